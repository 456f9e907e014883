package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// A Server is the socket in data_dir/run by which other commands on this
// machine talk to the engine. Whoever may open it is the owner.
type Server struct {
	serving
	path string
}

// serving is what a server of the API has, however it is reached.
type serving struct {
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
}

// Serve answers until Close.
func (s *serving) Serve() {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the HTTP API does not answer any more", "address", s.listener.Addr().String(), "error", err)
	}
}

// Listen opens data_dir/run/ENGINE.sock, mode 0600, for the engine of that number.
func Listen(dataDir string, engine int64, handler http.Handler, log *slog.Logger) (*Server, error) {
	dir := filepath.Join(dataDir, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the engine's socket: %w", err)
	}
	name := strconv.FormatInt(engine, 10) + ".sock"
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove a stale socket: %w", err)
	}
	short, closeDir, err := shortPath(dir, name)
	if err != nil {
		return nil, fmt.Errorf("open the engine's socket: %w", err)
	}
	defer closeDir()
	listener, err := net.Listen("unix", short)
	if err != nil {
		return nil, fmt.Errorf("open the engine's socket: %w", err)
	}
	if l, ok := listener.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false) // Close does, by the long name
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("protect the engine's socket: %w", err)
	}
	return &Server{serving{listener, &http.Server{Handler: handler, ReadHeaderTimeout: headerWait}, log}, path}, nil
}

// Close ends all connections; calling it twice is fine.
func (s *Server) Close() {
	s.server.Close()
	s.listener.Close()
	os.Remove(s.path)
}

// Dial connects to this server.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	return dialUnix(ctx, filepath.Dir(s.path), filepath.Base(s.path))
}

// longestPath is what a unix socket's address holds, less the closing NUL.
const longestPath = 107

// dialUnix connects to dir/name.
func dialUnix(ctx context.Context, dir, name string) (net.Conn, error) {
	short, closeDir, err := shortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer closeDir()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// shortPath names dir/name in a way that fits a socket address: by an open
// descriptor of dir where the path itself is too long.
func shortPath(dir, name string) (path string, done func(), err error) {
	if path = filepath.Join(dir, name); len(path) <= longestPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name), func() { f.Close() }, nil
}

// KeyHeader is the header with a call's Key.
const KeyHeader = "Idempotency-Key"

// AlivePath is the call that says whether the engine does its work.
const AlivePath = "/healthz"
