package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// An engineConn is a connection to one of the engines that share the data folder, or
// why there is none to a socket that is somebody's.
type engineConn struct {
	net.Conn
	engine string // its number
	err    error
}

// eachEngine connects to all engines whose sockets are in data_dir/run, at the same
// time, since one that hangs takes its time. use owns the connection; it may be called
// by several goroutines at once, and not at all. eachEngine returns after all of them.
func eachEngine(ctx context.Context, settings *configs.Settings, use func(engineConn)) error {
	dir := filepath.Join(settings.DataDir, "run")
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return fmt.Errorf("look for an engine: %w", err)
	}
	var asking sync.WaitGroup
	for _, socket := range sockets {
		asking.Go(func() {
			name := filepath.Base(socket)
			conn, err := dialUnix(ctx, dir, name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
				return // what one left behind that is gone
			}
			use(engineConn{conn, strings.TrimSuffix(name, ".sock"), err})
		})
	}
	asking.Wait()
	return nil
}

// well says whether the engine does its work: one that hangs takes connections still.
func (c engineConn) well(ctx context.Context) bool { return c.err == nil && answers(ctx, c) }

// close closes the connection, if there is one.
func (c engineConn) close() {
	if c.err == nil {
		_ = c.Close()
	}
}

// dialEngine connects to the running engine: of several, the first to say that it does
// its work. errNoEngine: there is none; errHangs: there are, and none of them does.
func dialEngine(ctx context.Context, settings *configs.Settings) (net.Conn, error) {
	found := make(chan net.Conn)
	none := make(chan error, 1)
	var hangs atomic.Value // the number of one that does
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	go func() {
		none <- cmp.Or(eachEngine(ctx, settings, func(c engineConn) {
			if c.well(ctx) {
				select {
				case found <- c.Conn:
					return
				case <-ctx.Done():
				}
			} else if ctx.Err() == nil {
				hangs.Store(c.engine)
			}
			c.close()
		}), errNoEngine)
	}()
	select {
	case conn := <-found:
		enough()
		<-none
		return conn, nil
	case err := <-none:
		if engine := hangs.Load(); engine != nil && errors.Is(err, errNoEngine) {
			err = fmt.Errorf("the engine %s hangs: %w; stop it and start it again", engine, errHangs)
		}
		return nil, err
	}
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
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
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

// askEngines asks every engine that does its work, and starts none; silent are those
// of which nothing came, by their numbers. errNoEngine: there is none; another error is
// one of theirs where all have failed.
func askEngines[T any](ctx context.Context, settings *configs.Settings, path string) (answers []T, silent []string, err error) {
	var (
		mu    sync.Mutex
		fault = errNoEngine
	)
	err = eachEngine(ctx, settings, func(c engineConn) {
		answer, err := askOne[T](ctx, c, path)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			answers = append(answers, answer)
			return
		}
		silent = append(silent, c.engine)
		fault = fmt.Errorf("engine %s: %w", c.engine, err)
	})
	slices.Sort(silent)
	if err == nil && len(answers) == 0 {
		err = fault
	}
	return answers, silent, err
}

// errHangs says that an engine takes connections and nothing more.
var errHangs = errors.New("it takes connections and does not answer")

// askOne asks over one connection, and closes it.
func askOne[T any](ctx context.Context, conn engineConn, path string) (answer T, err error) {
	defer conn.close()
	if conn.err != nil {
		return answer, conn.err
	} else if !conn.well(ctx) {
		return answer, errHangs
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := newClient(func(context.Context) (net.Conn, error) { return conn.Conn, nil })
	defer c.http.CloseIdleConnections()
	return answer, c.do(ctx, http.MethodGet, path, &answer)
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
