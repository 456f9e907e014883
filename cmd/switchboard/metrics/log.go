package metrics

import (
	"context"
	"log/slog"
)

// defects is a log whose errors are counted for its channel: an adapter logs an error alone where a text of ours is one
// that the platform cannot read.
type defects struct {
	slog.Handler
	metrics *Metrics
	channel string // empty: it is not known yet
}

// Log is a log for channels.
func (m *Metrics) Log(of *slog.Logger) *slog.Logger { return slog.New(defects{of.Handler(), m, ""}) }

// Handle implements slog.Handler.
func (d defects) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError && d.channel != "" {
		d.metrics.defects.WithLabelValues(d.channel).Inc()
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d defects) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "channel" {
			d.channel = a.Value.String()
		}
	}
	d.Handler = d.Handler.WithAttrs(attrs)
	return d
}

// WithGroup implements slog.Handler.
func (d defects) WithGroup(name string) slog.Handler {
	d.Handler = d.Handler.WithGroup(name)
	return d
}
