package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/store"
	"switchboard/store/database"
)

// list reads rows from the engine and prints them, as a table or as JSON; at most limit, or all where it is 0.
// Where there are none it says what to try.
func list[T any](a *app, path string, limit count, asJSON bool, try, head string, cells func(T) []any) error {
	var rows []T
	if err := a.ask(path, &rows); err != nil {
		return err
	}
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

// query asks for the newest rows in one state.
func query(state string, limit count) string {
	return url.Values{"state": {state}, "limit": {limit.asked()}}.Encode()
}

// ask reads something from the engine.
func (a *app) ask(path string, result any) error {
	settings, answered, err := a.request(http.MethodGet, path, result)
	switch {
	case !database.Unwritable(err):
		return err
	case answered: // and the engine that this was for a moment could not note its end
		return nil
	}
	return a.askFiles(settings, path, result, err)
}

// request asks the engine; where none runs, this process is one for a moment.
func (a *app) request(method, path string, result any) (settings *configs.Settings, answered bool, err error) {
	if settings, _, err = a.load(); err != nil {
		return nil, false, err
	}
	if err := hasLedger(settings); err != nil {
		return nil, false, err
	}
	answered, err = a.send(settings, method, path, result)
	return settings, answered, err
}

// send asks the engine, which this process becomes where none runs.
func (a *app) send(settings *configs.Settings, method, path string, result any) (answered bool, err error) {
	err = a.withEngine(settings, openAsking, func(ctx context.Context, engine *api.Client) error {
		err := engine.Do(ctx, api.Call{Method: method, Path: path}, result)
		answered = err == nil
		return err
	})
	return answered, err
}

// askFiles reads something where no engine runs and none can be started, because nothing
// can be written there; why says what stood in the way.
func (a *app) askFiles(settings *configs.Settings, path string, result any, why error) error {
	db, err := store.OpenReadOnly(a.ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("%w; and to read alone: %w", why, err)
	}
	defer db.Close()
	mux := http.NewServeMux()
	readRoutes(mux, db.Router(), func() *configs.Settings { return settings })
	if err := api.InProcess(mux).Do(a.ctx, api.Call{Method: http.MethodGet, Path: path}, result); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "switchboard: no engine is running here, and %v; this is what was stored, without what an engine elsewhere may have added since\n", why)
	return nil
}
