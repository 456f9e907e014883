// Package logs owns where the program's log goes and how it reads: text or JSON, on
// standard error or in the data folder, and each warning once while it stays the same.
package logs

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"

	"switchboard/configs"
	"switchboard/internal/secrets"
)

// New writes to w, which is a terminal or not: text on a terminal, JSON elsewhere, unless
// log.format says which. Known secrets are masked in it.
func New(w io.Writer, terminal bool, settings *configs.Settings) *slog.Logger {
	format := settings.Log.Format
	if format == "auto" && terminal {
		format = "text"
	}
	options := tint.Options{Level: level(settings), TimeFormat: time.TimeOnly, NoColor: !terminal || os.Getenv("NO_COLOR") != ""}
	log := newLog(masked{w, settings.Mask}, format, options)
	slog.SetDefault(log) // for what libraries log by themselves; package log follows
	return log
}

// masked is a writer to which each record is one write.
type masked struct {
	io.Writer
	mask *secrets.Masker
}

func (m masked) Write(record []byte) (int, error) {
	if _, err := m.Writer.Write(m.mask.Bytes(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// newLog writes text where format says so, and JSON otherwise.
func newLog(w io.Writer, format string, options tint.Options) *slog.Logger {
	level := new(slog.LevelVar)
	if options.Level != nil {
		level.Set(options.Level.Level())
	}
	options.Level = level
	if format == "text" {
		return slog.New(newCalm(tint.NewHandler(w, &options), level))
	}
	return slog.New(newCalm(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: options.Level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if options.ReplaceAttr != nil {
			a = options.ReplaceAttr(groups, a)
		}
		if a.Value.Kind() == slog.KindDuration { // not as a number of nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}), level))
}

// SetLevel has a log of this package say from now on what log.level asks for.
func SetLevel(log *slog.Logger, settings *configs.Settings) {
	if c, ok := log.Handler().(*calm); ok {
		c.level.Set(level(settings))
	}
}

func level(settings *configs.Settings) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(settings.Log.Level)); err != nil {
		return slog.LevelInfo
	}
	return l
}
