package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrNoEngine says that no engine runs on this data folder.
var ErrNoEngine = errors.New("no engine is running")

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
func eachEngine(ctx context.Context, dataDir string, use func(engineConn)) error {
	dir := filepath.Join(dataDir, "run")
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

// close closes the connection, if there is one.
func (c engineConn) close() {
	if c.err == nil {
		_ = c.Close()
	}
}

// Dial connects to the running engine: of several, the first to say that it does
// its work. ErrNoEngine: there is none; ErrHangs: there are, and none of them does.
func Dial(ctx context.Context, dataDir string) (net.Conn, error) {
	found := make(chan net.Conn)
	none := make(chan error, 1)
	var hangs atomic.Value // the number of one that does
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	go func() {
		none <- cmp.Or(eachEngine(ctx, dataDir, func(c engineConn) {
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
		}), ErrNoEngine)
	}()
	select {
	case conn := <-found:
		enough()
		<-none
		return conn, nil
	case err := <-none:
		if engine := hangs.Load(); engine != nil && errors.Is(err, ErrNoEngine) {
			err = fmt.Errorf("the engine %s hangs: %w; stop it and start it again", engine, ErrHangs)
		}
		return nil, err
	}
}

// well says whether the engine does its work: one that hangs takes connections still. The
// connection is as good as new afterwards.
func (c engineConn) well(ctx context.Context) bool {
	if c.err != nil {
		return false
	}
	deadline := time.Now().Add(aliveWait)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := c.SetDeadline(deadline); err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	if _, err := io.WriteString(c, "GET "+AlivePath+" HTTP/1.1\r\nHost: engine\r\n\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && resp.Body.Close() == nil && c.SetDeadline(time.Time{}) == nil
}

// Ask asks the engine that runs, and starts none. ErrNoEngine: there is none.
func Ask(ctx context.Context, dataDir string, path string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	c := NewClient(func(ctx context.Context) (net.Conn, error) { return Dial(ctx, dataDir) })
	defer c.Close()
	return c.Do(ctx, Call{Method: http.MethodGet, Path: path}, result)
}

// AskAll asks every engine that does its work, and starts none; silent are those
// of which nothing came, by their numbers. ErrNoEngine: there is none; another error is
// one of theirs where all have failed.
func AskAll[T any](ctx context.Context, dataDir string, path string) (answers []T, silent []string, err error) {
	var (
		mu    sync.Mutex
		fault = ErrNoEngine
	)
	err = eachEngine(ctx, dataDir, func(c engineConn) {
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

// ErrHangs says that an engine takes connections and nothing more.
var ErrHangs = errors.New("it takes connections and does not answer")

// askOne asks over one connection, and closes it.
func askOne[T any](ctx context.Context, conn engineConn, path string) (answer T, err error) {
	defer conn.close()
	if conn.err != nil {
		return answer, conn.err
	} else if !conn.well(ctx) {
		return answer, ErrHangs
	}
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	c := NewClient(func(context.Context) (net.Conn, error) { return conn.Conn, nil })
	defer c.Close()
	return answer, c.Do(ctx, Call{Method: http.MethodGet, Path: path}, &answer)
}

// Alive says whether the engine here does its work. Where several share the data
// folder, one of this machine's (in a container: the container's) own that hangs is
// not excused by another that answers. ErrNoEngine: there is none.
func Alive(ctx context.Context, dataDir string) error {
	var (
		mu        sync.Mutex
		alive     bool
		hangs     string // an engine of our own
		otherwise = ErrNoEngine
	)
	err := eachEngine(ctx, dataDir, func(c engineConn) {
		defer c.close()
		here, well := c.err == nil && isHere(c.Conn), c.well(ctx)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case well:
			alive = true
		case here:
			hangs = c.engine
		default:
			otherwise = fmt.Errorf("the engine %s does not answer", c.engine)
		}
	})
	switch {
	case err != nil:
		return err
	case hangs != "":
		return fmt.Errorf("the engine %s hangs: %w; stop it and start it again", hangs, ErrHangs)
	case alive:
		return nil
	}
	return otherwise
}
