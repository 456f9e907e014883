// Package logs owns where the program's log goes and how it reads: text or JSON, on
// standard error or in the data folder, and each warning once while it stays the same.
package logs

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
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

// longestLog is the size in bytes at which a log file is set aside, as .old.
const longestLog = 10 << 20

// A File is data_dir/switchboard.log: where an engine writes that runs under a
// chat or another command, whose terminal and pipes belong to the person.
type File struct {
	Log  *slog.Logger
	Path string

	file     *os.File
	warnings atomic.Int64
}

// Open opens the file, readable by its owner alone; text where log.format asks for
// it, else JSON.
func Open(settings *configs.Settings) (*File, error) {
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	l := &File{Path: filepath.Join(settings.DataDir, "switchboard.log")}
	if info, err := os.Stat(l.Path); err == nil && info.Size() > longestLog {
		if err := os.Rename(l.Path, l.Path+".old"); err != nil {
			return nil, fmt.Errorf("set the log file aside: %w", err)
		}
	}
	var err error
	if l.file, err = os.OpenFile(l.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	l.Log = newLog(masked{l.file, settings.Mask}, settings.Log.Format, tint.Options{
		Level: level(settings), TimeFormat: time.DateTime, NoColor: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level >= slog.LevelWarn {
				l.warnings.Add(1)
			}
			return a
		},
	})
	slog.SetDefault(l.Log)
	return l, nil
}

// Close closes the file and says on w where to look if anything went wrong.
func (l *File) Close(w io.Writer) {
	switch n := l.warnings.Load(); {
	case n == 1:
		fmt.Fprintf(w, "switchboard: a warning is in %s\n", l.Path)
	case n > 1:
		fmt.Fprintf(w, "switchboard: %d warnings are in %s\n", n, l.Path)
	}
	l.file.Close()
}
