package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"switchboard/configs"
	"switchboard/store"
)

// errNoEngine says that no engine runs on this data folder.
var errNoEngine = errors.New("no engine is running")

// A client talks to the engine over its socket.
type client struct{ http *http.Client }

// dialEngine finds a running engine: the first socket of data_dir/run that answers.
func dialEngine(ctx context.Context, settings *configs.Settings) (*client, error) {
	dir := filepath.Join(settings.DataDir, "run")
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return nil, fmt.Errorf("look for an engine: %w", err)
	}
	for _, path := range slices.Backward(sockets) {
		c := newClient(dir, filepath.Base(path))
		trying, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := c.do(trying, http.MethodGet, "/alive", nil)
		cancel()
		if err == nil {
			return c, nil
		}
	}
	return nil, errNoEngine
}

func newClient(dir, name string) *client {
	return &client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialUnix(ctx, dir, name) },
	}}}
}

// do calls the engine and decodes its answer into result, unless that is nil.
func (c *client) do(ctx context.Context, method, path string, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, nil)
	if err != nil {
		return fmt.Errorf("ask the engine: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the engine: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var fault localError
		if err := json.NewDecoder(resp.Body).Decode(&fault); err != nil || fault.Error == "" {
			fault.Error = resp.Status
		}
		return errors.New(fault.Error)
	}
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(result); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	return nil
}

// withEngine finds the running engine or, where none runs, becomes one that
// serves the console alone while use runs.
func (a *app) withEngine(settings *configs.Settings, use func(ctx context.Context, c *client) error) error {
	giveUp := time.Now().Add(enginePatience)
	for {
		c, err := dialEngine(a.ctx, settings)
		if err == nil {
			return use(a.ctx, c)
		}
		e, err := openEngine(a.ctx, settings, a.logger(settings, quietLevel), nil)
		if err == nil {
			return runWith(a.ctx, e, use)
		}
		// Another engine holds the database and its socket is not there yet.
		if !errors.Is(err, store.ErrEngineRunning) || time.Now().After(giveUp) {
			return err
		}
		if err := pause(a.ctx); err != nil {
			return err
		}
	}
}

// enginePatience is how long a command waits for an engine that starts or ends.
const enginePatience = 5 * time.Second

// pause waits a moment, or returns ctx's error.
func pause(ctx context.Context) error {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// runWith runs e while use talks to it, and stops it when use has returned.
func runWith(ctx context.Context, e *engine, use func(ctx context.Context, c *client) error) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- e.run(running) }()
	using, cancel := context.WithCancel(ctx)
	defer cancel()
	used := make(chan error, 1)
	go func() { used <- use(using, newClient(filepath.Dir(e.local.path), filepath.Base(e.local.path))) }()
	select {
	case err := <-used:
		stop()
		return errors.Join(err, <-ended)
	case err := <-ended: // the engine broke under it
		stop()
		cancel()
		return errors.Join(err, <-used)
	}
}
