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
	e, err := a.becomeEngine(settings, log)
	if err != nil {
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

// becomeEngine opens the engine. A database that is held by nobody who answers is
// waited for a little: a killed engine's lock may outlive it for a moment.
func (a *app) becomeEngine(settings *configs.Settings, log *slog.Logger) (*engine, error) {
	giveUp := time.Now().Add(enginePatience)
	for {
		e, err := openEngine(a.ctx, settings, log, attach)
		if !errors.Is(err, store.ErrEngineRunning) {
			return e, err
		}
		if _, dialled := dialEngine(a.ctx, settings); dialled == nil || time.Now().After(giveUp) {
			return nil, fmt.Errorf("%w; \"switchboard chat\" talks to it", err)
		}
		if err := pause(a.ctx); err != nil {
			return nil, err
		}
	}
}

// greet says what runs, before the prompt.
func (a *app) greet(settings *configs.Settings) {
	fmt.Fprintf(a.err, "Switchboard on %s, model %s. Write to it; /help shows the commands, Ctrl-D leaves.\n",
		settings.DataDir, settings.Agent.Planner)
}
