package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"switchboard/cmd/switchboard/engine"
	"switchboard/cmd/switchboard/live"
	"switchboard/cmd/switchboard/logs"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/retry"
	"switchboard/internal/secrets"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// enginePatience is how long a command waits for an engine that starts or ends.
const enginePatience = 5 * time.Second

// enginePoll is how often it is tried meanwhile.
const enginePoll = 50 * time.Millisecond

// databasePoll is how often a database server that was not there is tried.
const databasePoll = time.Second

// A link reaches the engine of a data folder, whichever it is at each connection:
// the one that runs, or, where none does, one that this process becomes. So a client
// outlives the engine it began with.
type link struct {
	app      *app
	settings *configs.Settings
	log      *slog.Logger // of the engine this process may become
	mode     engine.Mode  // of that engine

	mu     sync.Mutex     // held while an engine is sought or opened
	closed bool           // nobody needs an engine any more
	own    *engine.Engine // nil: this process is not the engine
	stop   context.CancelFunc
	end    chan error // of the own engine
}

// withEngine lets use talk to the engine, which this process becomes in that mode when
// there is none.
func (a *app) withEngine(settings *configs.Settings, mode engine.Mode, use func(ctx context.Context, c *api.Client) error) error {
	file, err := logs.Open(settings)
	if err != nil {
		return err
	}
	defer file.Close(a.err)
	l := &link{app: a, settings: settings, log: file.Log, mode: mode}
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
			return l.own.Dial(ctx)
		}
		conn, why := api.Dial(ctx, l.settings.DataDir)
		if why == nil {
			return conn, nil
		}
		e, err := engine.Open(ctx, l.mode, l.settings, l.log)
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
		if !retry.Sleep(ctx, enginePoll) {
			return nil, ctx.Err()
		}
	}
}

// start runs e as the own engine.
func (l *link) start(e *engine.Engine) {
	ctx, stop := context.WithCancel(context.WithoutCancel(l.app.ctx))
	l.own, l.stop, l.end = e, stop, make(chan error, 1)
	end := l.end
	go func() { end <- e.Run(ctx) }()
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

// list reads rows from the engine and prints them, as a table or as JSON; at most limit, or all where it is 0.
// Where there are none it says what to try.
func list[T any](a *app, path string, limit count, asJSON bool, try, head string, cells func(T) []any) error {
	var rows []T
	if err := a.ask(path, &rows); err != nil {
		return err
	}
	return printList(a, limit, asJSON, try, head, rows, cells)
}

// printList prints rows as list does.
func printList[T any](a *app, limit count, asJSON bool, try, head string, rows []T, cells func(T) []any) error {
	if len(rows) == 0 && !asJSON {
		defer fmt.Fprintln(a.err, "switchboard: none yet;", try)
	}
	return printFirst(a, limit, asJSON, head, rows, cells)
}

// printFirst prints at most limit of rows, or all where it is 0, and says so where there are more.
func printFirst[T any](a *app, limit count, asJSON bool, head string, rows []T, cells func(T) []any) error {
	if limit > 0 && len(rows) > int(limit) {
		rows = rows[:limit]
		defer fmt.Fprintf(a.err, "switchboard: there are more than these %d; --limit N lists up to N\n", limit)
	}
	return printRows(a.out, asJSON, head, rows, cells)
}

// A count is how many rows are wanted.
type count int

// asked is how many rows are asked for: one more than is shown tells that there are more.
func (c count) asked() string { return strconv.Itoa(min(int(c), math.MaxInt32-1) + 1) }

// Validate is asked by the command line's parser.
func (c count) Validate() error {
	if c < 1 {
		return fmt.Errorf("%d is none; at least 1 is needed", c)
	}
	return nil
}

// A number is that of a row.
type number int64

// Validate is asked by the command line's parser.
func (n number) Validate() error {
	if n < 1 {
		return fmt.Errorf("%d is no number; numbers begin with 1", n)
	}
	return nil
}

// query asks for the newest rows in one state.
func query(state string, limit count) string {
	return url.Values{"state": {state}, "limit": {limit.asked()}}.Encode()
}

// ask reads something from the engine; where none can be started, because nothing can be written there, from
// the database alone.
func (a *app) ask(path string, result any) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return err
	}
	answered, err := a.send(settings, api.Call{Method: http.MethodGet, Path: path}, result)
	switch {
	case settings == nil, !database.Unwritable(err):
		return err
	case answered: // and the engine that this was for a moment could not note its end
		return nil
	}
	db, readErr := live.Open(a.ctx, settings)
	if readErr != nil {
		return fmt.Errorf("%w; and to read alone: %w", err, readErr)
	}
	defer db.Close()
	if err := api.InProcess(socket.ReadRoutes(db.Router(), settings)).Do(a.ctx, api.Call{Method: http.MethodGet, Path: path}, result); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "switchboard: no engine is running here, and %v; this is what was stored, without what an engine elsewhere may have added since\n", err)
	return nil
}

// order is change by the settings of this machine, or by those of the server that it speaks to.
func (a *app) order(call api.Call, what string, result any, say func() error) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return a.change(settings, call, what, result, say)
}

// change has the engine change something, and says what came of it; what was done is named in the error.
func (a *app) change(settings *configs.Settings, call api.Call, what string, result any, say func() error) error {
	answered, err := a.send(settings, call, result)
	if !answered {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(say(), err)
}

// send asks the engine, which this process becomes where none runs; without settings that of --server.
func (a *app) send(settings *configs.Settings, call api.Call, result any) (answered bool, err error) {
	ask := func(ctx context.Context, c *api.Client) error {
		err := c.Do(ctx, call, result)
		answered = err == nil
		return err
	}
	if settings == nil {
		err = a.withServer(ask)
	} else {
		err = a.withEngine(settings, engine.Asking, ask)
	}
	return answered, err
}

// withServer lets use talk to the engine of --server.
func (a *app) withServer(use func(ctx context.Context, c *api.Client) error) error {
	token := secrets.Secret(configs.Variable(a.env, "SWITCHBOARD_TOKEN"))
	if token == "" {
		return configs.Usage(errors.New("--server: put a token into the variable SWITCHBOARD_TOKEN; \"switchboard token create NAME\" makes one on the machine of the bot"))
	}
	a.mask.Add(token)
	client, err := api.Remote(a.Server, token, a.Insecure)
	if err != nil {
		return configs.Usage(fmt.Errorf("--server: %w", err))
	}
	defer client.Close()
	return use(a.ctx, client)
}
