package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"switchboard/channels/console"
	"switchboard/configs"
)

// load reads the settings; their faults are wrong usage.
func (a *app) load() (*configs.Settings, []configs.Warning, error) {
	if a.Server != "" {
		return nil, nil, usageError{fmt.Errorf("--server: %w", errNotAvailable)}
	}
	settings, warnings, err := configs.Load(configs.Options{
		File: a.Config, Env: a.env, DataDir: a.Data, LogLevel: a.LogLevel, Kinds: configKinds(),
	})
	if err != nil {
		return nil, warnings, usageError{err}
	}
	return settings, warnings, nil
}

// logger writes to standard error: text on a terminal, JSON elsewhere.
func (a *app) logger(settings *configs.Settings) *slog.Logger {
	terminal := isTerminal(a.err)
	format := settings.Log.Format
	if format == "auto" && terminal {
		format = "text"
	}
	options := tint.Options{Level: levelOf(settings), TimeFormat: time.TimeOnly, NoColor: !terminal || os.Getenv("NO_COLOR") != ""}
	log := newLog(a.err, format, options)
	slog.SetDefault(log) // for what libraries log by themselves; package log follows
	return log
}

// newLog writes text where format says so, and JSON otherwise.
func newLog(w io.Writer, format string, options tint.Options) *slog.Logger {
	if format == "text" {
		return slog.New(newCalm(tint.NewHandler(w, &options)))
	}
	return slog.New(newCalm(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: options.Level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if options.ReplaceAttr != nil {
			a = options.ReplaceAttr(groups, a)
		}
		if a.Value.Kind() == slog.KindDuration { // not as a number of nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}})))
}

func levelOf(settings *configs.Settings) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.Log.Level)); err != nil {
		return slog.LevelInfo
	}
	return level
}

// onTerminal says whether a person sits in front of this command. The terminal of a job
// in the background is for others.
func (a *app) onTerminal() bool {
	return isTerminal(a.in) && isTerminal(a.out) && console.InForeground(a.in)
}

// staysUnstopped keeps a shell from stopping this process, and the engine in it, because
// it touches the terminal as a job in the background: a read fails then, and the log is
// written in spite of "stty tostop".
func staysUnstopped() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

// isFed says that somebody else's output or a file is the input: neither a terminal
// nor a device such as /dev/null.
func isFed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
