package logs

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// calmFor is for how long a warning is not said again that says the very same, and
	// how long it has to be gone to be over.
	calmFor = 30 * time.Second
	// mostWarnings bounds what is remembered; others are said each time.
	mostWarnings = 1000
)

// calm is a handler of a log that says a warning once and then, while the same one comes
// again and again, every calmFor with how often it came, and once when it is over. What
// differs in a single attribute is another warning.
type calm struct {
	slog.Handler
	with     string // what WithAttrs and WithGroup added
	warnings *warnings
	level    *slog.LevelVar
}

// warnings are those of the last calmFor.
type warnings struct {
	mu  sync.Mutex
	are map[string]*warning
}

type warning struct {
	first, last, said time.Time
	untold, times     int
	over              *time.Timer
}

func newCalm(h slog.Handler, level *slog.LevelVar) slog.Handler {
	return &calm{Handler: h, warnings: &warnings{are: map[string]*warning{}}, level: level}
}

// Handle implements slog.Handler.
func (c *calm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return c.Handler.Handle(ctx, r)
	}
	var key strings.Builder
	key.WriteString(c.with + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		key.WriteString("\x00" + a.String())
		return true
	})
	say, untold := c.came(ctx, key.String(), r)
	if !say {
		return nil
	}
	if untold > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", untold))
	}
	return c.Handler.Handle(ctx, r)
}

// came says whether the warning is to be said now, and how often it came unsaid.
func (c *calm) came(ctx context.Context, key string, r slog.Record) (say bool, untold int) {
	c.warnings.mu.Lock()
	defer c.warnings.mu.Unlock()
	now := time.Now()
	w := c.warnings.are[key]
	if w == nil {
		if len(c.warnings.are) < mostWarnings {
			ctx := context.WithoutCancel(ctx)
			w = &warning{first: now, last: now, said: now}
			w.over = time.AfterFunc(calmFor, func() { c.gone(ctx, key, r) })
			c.warnings.are[key] = w
		}
		return true, 0
	}
	w.over.Reset(calmFor)
	w.last = now
	w.times++
	w.untold++
	if now.Sub(w.said) < calmFor {
		return false, 0
	}
	w.said = now
	untold, w.untold = w.untold, 0
	return true, untold
}

// gone says that a warning is over which came more than once.
func (c *calm) gone(ctx context.Context, key string, r slog.Record) {
	c.warnings.mu.Lock()
	w := c.warnings.are[key]
	if w == nil || time.Since(w.last) < calmFor { // it came at this moment
		c.warnings.mu.Unlock()
		return
	}
	delete(c.warnings.are, key)
	c.warnings.mu.Unlock()
	if w.times == 0 || !c.Enabled(ctx, slog.LevelInfo) {
		return
	}
	over := slog.NewRecord(time.Now(), slog.LevelInfo, "a warning does not come any more", 0)
	over.AddAttrs(slog.String("warning", r.Message))
	r.Attrs(func(a slog.Attr) bool {
		over.AddAttrs(a)
		return true
	})
	over.AddAttrs(slog.Int("repeated", w.times), slog.Duration("duration", w.last.Sub(w.first).Round(time.Millisecond)))
	_ = c.Handler.Handle(ctx, over) // there is nobody to tell that the log cannot be written
}

// WithAttrs implements slog.Handler.
func (c *calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := c.with
	for _, a := range attrs {
		with += a.String() + "\x00"
	}
	return &calm{c.Handler.WithAttrs(attrs), with, c.warnings, c.level}
}

// WithGroup implements slog.Handler.
func (c *calm) WithGroup(name string) slog.Handler {
	return &calm{c.Handler.WithGroup(name), c.with + name + "\x00", c.warnings, c.level}
}
