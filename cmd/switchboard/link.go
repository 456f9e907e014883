package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"switchboard/cmd/switchboard/logs"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/retry"
	"switchboard/store/engines"
)

// enginePatience is how long a command waits for an engine that starts or ends.
const enginePatience = 5 * time.Second

// lookPause is between two looks whether that has come about.
const lookPause = 50 * time.Millisecond

// databasePause is between two looks whether a server that was not there is.
const databasePause = time.Second

// A link reaches the engine of a data folder, whichever it is at each connection:
// the one that runs, or, where none does, one that this process becomes. So a client
// outlives the engine it began with.
type link struct {
	app      *app
	settings *configs.Settings
	log      *slog.Logger // of the engine this process may become
	open     engineOpener // makes that engine

	mu     sync.Mutex // held while an engine is sought or opened
	closed bool       // nobody needs an engine any more
	own    *engine    // nil: this process is not the engine
	stop   context.CancelFunc
	end    chan error // of the own engine
}

// withEngine lets use talk to the engine; open is how this process becomes it when
// there is none.
func (a *app) withEngine(settings *configs.Settings, open engineOpener, use func(ctx context.Context, c *api.Client) error) error {
	file, err := logs.Open(settings)
	if err != nil {
		return err
	}
	defer file.Close(a.err)
	l := &link{app: a, settings: settings, log: file.Log, open: open}
	conn, err := l.dial(a.ctx) // what is wrong is said at once, not tried again
	if err != nil {
		return errors.Join(err, l.close())
	}
	conn.Close()
	return errors.Join(use(a.ctx, l.client()), l.close())
}

func (l *link) client() *api.Client { return api.NewClient(l.dial) }

// dial connects to the engine.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	giveUp := time.Now().Add(enginePatience)
	for {
		if l.closed {
			return nil, api.ErrNoEngine
		}
		if l.running() {
			return l.own.local.Dial(ctx)
		}
		conn, why := api.Dial(ctx, l.settings.DataDir)
		if why == nil {
			return conn, nil
		}
		e, err := l.open(ctx, l.settings, l.log)
		switch {
		case err == nil:
			l.start(e)
			continue
		case !errors.Is(err, engines.ErrRunning):
			return nil, err
		case time.Now().After(giveUp):
			if errors.Is(why, api.ErrHangs) {
				err = why
			}
			return nil, err
		}
		// Another engine holds the database and its socket is not there yet, or
		// not any more.
		if !retry.Sleep(ctx, lookPause) {
			return nil, ctx.Err()
		}
	}
}

// start runs e as the own engine.
func (l *link) start(e *engine) {
	ctx, stop := context.WithCancel(context.WithoutCancel(l.app.ctx))
	l.own, l.stop, l.end = e, stop, make(chan error, 1)
	end := l.end
	go func() { end <- e.run(ctx) }()
}

// running says whether this process is the engine; one that has broken is
// forgotten.
func (l *link) running() bool {
	if l.own == nil {
		return false
	}
	select {
	case err := <-l.end:
		l.log.Error("the engine ended, another one is opened", "error", err)
		l.stop()
		l.own = nil
		return false
	default:
		return true
	}
}

// close stops the own engine, if there is one, and says so when that takes time.
func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.own == nil {
		return nil
	}
	l.stop()
	l.own = nil
	patience := time.NewTimer(500 * time.Millisecond)
	defer patience.Stop()
	select {
	case err := <-l.end:
		return err
	case <-patience.C:
		fmt.Fprintln(l.app.err, "switchboard: finishing what is under way; Ctrl-C leaves at once, and the rest goes on next time")
	}
	var hurry <-chan struct{} // after a first signal, the second ends the process anyway
	if l.app.ctx.Err() == nil {
		hurry = l.app.ctx.Done()
	}
	select {
	case err := <-l.end:
		return err
	case <-hurry:
		os.Exit(exitDone) // as safe as being killed
		return nil
	}
}

// hasLedger says whether there is anything to read: a command that only reads must
// not make a new data folder out of a typing error.
func hasLedger(settings *configs.Settings) error {
	if settings.Store.URL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(settings.DataDir, "switchboard.db")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is nothing in %s yet: start the bot first, for example with \"switchboard chat\", or name another folder with --data", settings.DataDir)
	}
	return nil
}
