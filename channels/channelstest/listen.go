package channelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"switchboard/channels/channelstest/scripted"
)

// A Server lets other processes reach a Platform, by the calls of package scripted.
type Server struct {
	platform *Platform
	network  string
	address  string

	mu    sync.Mutex
	calls sync.RWMutex // each call holds it to read, Close waits for all of them by it
	http  *http.Server
	done  chan struct{}
}

// Listen serves p on a unix socket ("unix", path) or a loopback port ("tcp",
// "127.0.0.1:0"). Close ends it.
func (p *Platform) Listen(network, address string) (*Server, error) {
	s := &Server{platform: p, network: network, address: address}
	if err := s.start(); err != nil {
		return nil, err
	}
	p.change(func() { p.servers = append(p.servers, s) })
	return s, nil
}

// Addr is the address as scripted.Config wants it.
func (s *Server) Addr() string { return s.address }

// Close stops serving, cuts open calls and waits for them.
func (s *Server) Close() { s.stop() }

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	listener, err := net.Listen(s.network, s.address)
	if err != nil {
		return fmt.Errorf("serve the scripted platform: %w", err)
	}
	s.address = listener.Addr().String()
	mux := http.NewServeMux()
	handle(mux, scripted.PathPoll, func(ctx context.Context, confirm []int64) (reply scripted.Reply, err error) {
		reply.Updates, err = s.platform.Poll(ctx, confirm)
		return reply, err
	})
	handle(mux, scripted.PathPost, func(ctx context.Context, call scripted.Post) (reply scripted.Reply, err error) {
		reply.ID, err = s.platform.Post(ctx, call)
		return reply, err
	})
	handle(mux, scripted.PathChange, s.platform.Change)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.RLock()
		defer s.calls.RUnlock()
		if s.http != server { // it came as we closed
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	})
	done := make(chan struct{})
	s.calls.Lock()
	s.http, s.done = server, done
	s.calls.Unlock()
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends by Close, with nothing else to say
	}()
	return nil
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return
	}
	_ = s.http.Close()
	<-s.done
	s.calls.Lock()
	s.http = nil
	s.calls.Unlock()
}

// handle answers the calls of one path, whose body is a T.
func handle[T any](mux *http.ServeMux, path string, do func(context.Context, T) (scripted.Reply, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var call T
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			answer(w, scripted.Reply{Error: &scripted.Error{Code: "refused", Reason: err.Error()}}, nil)
			return
		}
		reply, err := do(r.Context(), call)
		answer(w, reply, err)
	})
}

// answer writes reply, or the refusal err is; any other error cuts the connection.
func answer(w http.ResponseWriter, reply scripted.Reply, err error) {
	if err != nil {
		if reply.Error = scripted.Encode(err); reply.Error == nil {
			panic(http.ErrAbortHandler)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		panic(http.ErrAbortHandler)
	}
}
