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

// logger writes to standard error: text on a terminal, JSON elsewhere.
func (a *app) logger(settings *configs.Settings) *slog.Logger {
	level := levelOf(settings)
	if settings.Log.Format == "text" || settings.Log.Format == "auto" && isTerminal(a.err) {
		return slog.New(tint.NewHandler(a.err, &tint.Options{
			Level: level, TimeFormat: "15:04:05", NoColor: !isTerminal(a.err) || os.Getenv("NO_COLOR") != "",
		}))
	}
	return slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: level}))
}

func levelOf(settings *configs.Settings) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.Log.Level)); err != nil {
		return slog.LevelInfo
	}
	return level
}

// onTerminal says whether a person sits in front of this command.
func (a *app) onTerminal() bool { return isTerminal(a.in) && isTerminal(a.out) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
