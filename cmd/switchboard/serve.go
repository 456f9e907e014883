package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"switchboard/configs"
	"switchboard/store"
)

// quietLevel is for engines that only serve the command at hand.
const quietLevel = slog.LevelWarn

// serveCmd runs everything that is configured.
type serveCmd struct{}

// Run implements the command. On a terminal it also chats.
func (serveCmd) Run(a *app) error {
	began := time.Now()
	settings, warnings, err := a.load()
	if err != nil {
		return err
	}
	terminal := isTerminal(a.in) && isTerminal(a.out)
	quietest := slog.LevelInfo
	if terminal {
		quietest = quietLevel
	}
	log := a.logger(settings, quietest)
	for _, w := range warnings {
		log.Warn("settings", "warning", w.String())
	}
	e, err := openEngine(a.ctx, settings, log, attach)
	if errors.Is(err, store.ErrEngineRunning) {
		return fmt.Errorf("%w; \"switchboard chat\" talks to it", err)
	} else if err != nil {
		return err
	}
	log.Info("ready", "data_dir", settings.DataDir, "database", e.db.Kind(), "planner", settings.Agent.Planner,
		"channels", len(settings.Channels), "duration", time.Since(began).String())
	if !terminal {
		return e.run(a.ctx)
	}
	a.greet(settings)
	return runWith(a.ctx, e, func(ctx context.Context, c *client) error {
		return a.chat(ctx, c, settings, &chatCmd{Session: "default", As: ownerName})
	})
}

// greet says what runs, before the prompt.
func (a *app) greet(settings *configs.Settings) {
	fmt.Fprintf(a.err, "Switchboard on %s, model %s. Write to it; /help shows the commands, Ctrl-D leaves.\n",
		settings.DataDir, settings.Agent.Planner)
}
