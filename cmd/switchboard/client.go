package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"switchboard/configs"
)

// errNoEngine says that no engine runs on this data folder.
var errNoEngine = errors.New("no engine is running")

// A client talks to the engine over its socket.
type client struct{ http *http.Client }

// newClient talks over the connections that dial makes.
func newClient(dial func(context.Context) (net.Conn, error)) *client {
	return &client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}}}
}

// dialEngine connects to the running engine: the first socket of data_dir/run that
// anybody listens on. errNoEngine: there is none.
func dialEngine(ctx context.Context, settings *configs.Settings) (net.Conn, error) {
	dir := filepath.Join(settings.DataDir, "run")
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return nil, fmt.Errorf("look for an engine: %w", err)
	}
	for _, path := range slices.Backward(sockets) {
		conn, err := dialUnix(ctx, dir, filepath.Base(path))
		if err == nil && len(sockets) > 1 && !answers(ctx, conn) {
			err = errors.Join(errNoEngine, conn.Close())
		}
		if err == nil {
			return conn, nil
		}
	}
	return nil, errNoEngine
}

// answerPatience is how long an engine may take to say that it lives, where others may
// be asked instead.
const answerPatience = 3 * time.Second

// answers says whether the engine at the other end does its work: one that hangs takes
// connections still. The connection is as good as new afterwards.
func answers(ctx context.Context, conn net.Conn) bool {
	deadline := time.Now().Add(answerPatience)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return false
	}
	if _, err := io.WriteString(conn, "GET /alive HTTP/1.1\r\nHost: engine\r\n\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && resp.Body.Close() == nil && conn.SetDeadline(time.Time{}) == nil
}

// askEngine asks the engine that runs, and starts none. errNoEngine: there is none.
func askEngine(ctx context.Context, settings *configs.Settings, path string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := newClient(func(ctx context.Context) (net.Conn, error) { return dialEngine(ctx, settings) })
	defer c.http.CloseIdleConnections()
	return c.do(ctx, http.MethodGet, path, result)
}

// askEngines asks every engine that answers in the data folder, and starts none.
// errNoEngine: there is none; another error is the last one where all have failed.
func askEngines[T any](ctx context.Context, settings *configs.Settings, path string) (answers []T, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dir := filepath.Join(settings.DataDir, "run")
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return nil, fmt.Errorf("look for an engine: %w", err)
	}
	err = errNoEngine
	for _, socket := range sockets {
		dialed := false
		c := newClient(func(ctx context.Context) (net.Conn, error) {
			conn, err := dialUnix(ctx, dir, filepath.Base(socket))
			dialed = dialed || err == nil
			return conn, err
		})
		var answer T
		fault := c.do(ctx, http.MethodGet, path, &answer)
		c.http.CloseIdleConnections()
		switch {
		case fault == nil:
			answers = append(answers, answer)
		case dialed: // the others are what engines left behind that are gone
			err = fault
		}
	}
	if len(answers) > 0 {
		return answers, nil
	}
	return nil, err
}

// do calls the engine and decodes its answer into result, unless that is nil.
func (c *client) do(ctx context.Context, method, path string, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, nil)
	if err != nil {
		return fmt.Errorf("ask the engine: %w", err)
	}
	resp, err := c.http.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it names a method and an address that mean nothing to people
	}
	if errors.Is(err, errNoEngine) {
		return err
	} else if err != nil {
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
