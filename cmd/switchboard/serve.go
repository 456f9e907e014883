package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"switchboard/configs"
	"switchboard/store"
)

// serveCmd runs everything that is configured.
type serveCmd struct{}

// Run implements the command. On a terminal it also chats.
func (serveCmd) Run(a *app) error {
	began := time.Now()
	settings, warnings, err := a.load()
	if err != nil {
		return err
	}
	terminal := a.onTerminal()
	log := a.logger(settings)
	if terminal {
		file, err := openLog(settings)
		if err != nil {
			return err
		}
		defer file.close(a.err)
		log = file.log
	}
	for _, w := range warnings {
		log.Warn("settings", "warning", w.String())
	}
	e, err := a.waitForEngine(settings, log)
	if err != nil {
		return err
	}
	log.Info("ready", "data_dir", settings.DataDir, "database", e.db.Kind(), "planner", settings.Agent.Planner,
		"channels", len(settings.Channels), "duration", time.Since(began).String())
	if !terminal {
		return e.run(a.ctx)
	}
	l := &link{app: a, settings: settings, log: log, open: openEngine}
	l.start(e)
	err = a.chat(a.ctx, l.client(), settings, &chatCmd{Session: "default", As: ownerName})
	return errors.Join(err, l.close())
}

// passingPatience is how long serve waits for a command that is the engine just now.
const passingPatience = time.Minute

// waitForEngine opens the engine with all its channels. A database that is held by
// nobody who answers is waited for a little, since a killed engine's lock may
// outlive it for a moment; one that a command holds is waited for until it ends.
func (a *app) waitForEngine(settings *configs.Settings, log *slog.Logger) (*engine, error) {
	began := time.Now()
	for {
		e, err := openEngine(a.ctx, settings, log)
		other, held := errors.AsType[*store.EngineRunningError](err)
		if !held {
			return e, err
		}
		patience := enginePatience
		if other.Passing {
			patience = passingPatience
		} else if conn, err := dialEngine(a.ctx, settings); err == nil {
			conn.Close()
			patience = 0
		}
		if time.Since(began) >= patience {
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
