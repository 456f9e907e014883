package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

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

// logger writes to standard error: text on a terminal, JSON elsewhere. quietest
// is the lowest level written unless the settings name one of their own.
func (a *app) logger(settings *configs.Settings, quietest slog.Level) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.Log.Level)); err != nil {
		level = slog.LevelInfo
	}
	if level == slog.LevelInfo && a.LogLevel == "" {
		level = max(level, quietest)
	}
	if settings.Log.Format == "text" || settings.Log.Format == "auto" && isTerminal(a.err) {
		return slog.New(tint.NewHandler(a.err, &tint.Options{
			Level: level, TimeFormat: "15:04:05", NoColor: !isTerminal(a.err) || os.Getenv("NO_COLOR") != "",
		}))
	}
	return slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: level}))
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
