package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"switchboard/router"
	"switchboard/store"
)

// localServer is the socket in data_dir/run by which other commands on this
// machine talk to the engine. Whoever may open it is the owner.
type localServer struct {
	engine   *engine
	listener net.Listener
	server   *http.Server
	path     string
}

// listenLocal opens data_dir/run/OWNER.sock, mode 0600.
func listenLocal(e *engine) (*localServer, error) {
	dir := filepath.Join(e.settings.DataDir, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the engine's socket: %w", err)
	}
	name := strconv.FormatInt(e.owner.ID(), 10) + ".sock"
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove a stale socket: %w", err)
	}
	listener, err := listenUnix(dir, name)
	if err != nil {
		return nil, fmt.Errorf("open the engine's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("protect the engine's socket: %w", err)
	}
	s := &localServer{engine: e, listener: listener, path: path}
	s.server = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	return s, nil
}

func (s *localServer) serve() {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.engine.log.Error("the engine's socket closed", "error", err)
	}
}

// close ends all connections; calling it twice is fine.
func (s *localServer) close() {
	s.server.Close()
	s.listener.Close()
	os.Remove(s.path)
}

func (s *localServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/console/", s.engine.console.Handler())
	mux.HandleFunc("GET /alive", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]bool{"alive": true}, nil) })
	readRoutes(mux, s.engine.db.Router())
	mux.HandleFunc("POST /turns/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.engine.router.Cancel(r.Context(), id(r)))
	})
	mux.HandleFunc("POST /deliveries/{id}/retry", func(w http.ResponseWriter, r *http.Request) {
		d, err := s.engine.router.Lines.RetryDelivery(r.Context(), id(r), router.OwnerHand(ownerName))
		reply(w, d, err)
	})
	mux.HandleFunc("POST /deliveries/{id}/drop", func(w http.ResponseWriter, r *http.Request) {
		d, err := s.engine.router.Lines.DropDelivery(r.Context(), id(r), router.OwnerHand(ownerName))
		reply(w, d, err)
	})
	mux.HandleFunc("GET /channels", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.engine.statuses(), nil) })
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { reply(w, runningSettings(s.engine.settings), nil) })
	return mux
}

// readRoutes answers what needs no engine: what stands in the ledger.
func readRoutes(mux *http.ServeMux, ledger *store.Router) {
	mux.HandleFunc("GET /turns", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Turns(r.Context(), r.FormValue("state"), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /turns/{id}", func(w http.ResponseWriter, r *http.Request) {
		turn, err := ledger.Turn(r.Context(), id(r), r.FormValue("prompts") != "")
		reply(w, turn, err)
	})
	mux.HandleFunc("GET /refused", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.KeptOut(r.Context(), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /deliveries", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Deliveries(r.Context(), r.FormValue("state"), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /rejected", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Rejected(r.Context(), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /people", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.People(r.Context())
		reply(w, list, err)
	})
}

func id(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is nobody's
	return n
}

func limit(r *http.Request) int {
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		return n
	}
	return 50
}

func reply(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case errors.Is(err, router.ErrNotFound):
		w.WriteHeader(http.StatusNotFound)
		value = localError{notFound}
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
		value = localError{err.Error()}
	}
	json.NewEncoder(w).Encode(value)
}

// notFound is what the engine says where nothing is of that number.
const notFound = "not found"

type localError struct {
	Error string `json:"error"`
}

// longestPath is what a unix socket's address holds, less the closing NUL.
const longestPath = 107

// listenUnix listens on dir/name, also where that path is too long for a socket
// address.
func listenUnix(dir, name string) (net.Listener, error) {
	short, closeDir, err := shortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer closeDir()
	listener, err := net.Listen("unix", short)
	if l, ok := listener.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false) // close does, by the long name
	}
	return listener, err
}

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
