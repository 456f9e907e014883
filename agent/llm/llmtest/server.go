package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// keep is how many requests a server remembers, the newest.
const keep = 10_000

// A Server is a running model server. Its methods may be called at any time,
// from any goroutine.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
	served   sync.WaitGroup
	conns    atomic.Int64

	mu       sync.Mutex // guards what follows
	handler  func(Request) Reply
	checks   []func(Request) error
	key      string
	models   []string // of the list; nil: there is none
	memory   memory
	embeds   embeds
	requests []Request
	count    int
	faults   []string
	expected bool
	anySlice bool
}

// Start runs a server on addr; empty means 127.0.0.1 and a free port. Close it.
// Until Handle or Script, it answers as Agreeable does.
func Start(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	s := &Server{listener: listener, done: make(chan struct{}), handler: Agreeable, memory: memory{length: 128_000, used: []string{"model"}}}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.http.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.served.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// New runs a server until the test ends, and fails the test when a request was
// at fault, unless ExpectFaults was called.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.expected {
			return
		}
		for _, fault := range s.faults {
			t.Errorf("a request to the model was at fault: %s", fault)
		}
	})
	return s
}

// URL is the base URL for the settings; it ends in /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close stops the server; requests that hang are let go. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.mu.Unlock()
	_ = s.http.Close()
	s.served.Wait()
}

// Handle sets the script: handler is called for each request that is in order,
// by several goroutines at once.
func (s *Server) Handle(handler func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Script answers with the replies one after the other; the last one stays.
func (s *Server) Script(replies ...Reply) {
	var mu sync.Mutex
	s.Handle(func(Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		reply := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return reply
	})
}

// RequireKey makes the server answer 401 to every other key.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Lists makes the server list these models, the newest first; before it has no list. With no
// model it lists none.
//
// Source: https://platform.openai.com/docs/api-reference/models/list.
func (s *Server) Lists(models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = append([]string{}, models...)
}

// list answers with the models, the oldest first.
func list(models []string) Reply {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := []model{}
	for i, id := range slices.Backward(models) {
		data = append(data, model{id, "model", 1_700_000_000 - i, "tests"})
	}
	return Reply{Body: mustJSON(map[string]any{"object": "list", "data": data})}
}

// Requests are the requests so far that could be read, oldest first, at most
// the last 10,000.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count is how many requests came, those at fault included.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Connections is how many connections clients made.
func (s *Server) Connections() int { return int(s.conns.Load()) }

// Faults says what was wrong with requests so far.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// ExpectFaults keeps New from failing the test for faults.
func (s *Server) ExpectFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/api/ps" {
		s.mu.Lock()
		reply := s.memory.loaded()
		s.mu.Unlock()
		s.send(w, r, Request{}, reply)
		return
	}
	req, fault := parse(r, body)
	s.mu.Lock()
	s.memory.take(&req)
	s.count++
	req.N = s.count
	if fault == nil {
		s.requests = append(s.requests, req)
		if len(s.requests) > keep {
			s.requests = slices.Delete(s.requests, 0, keep/10)
		}
	}
	handler, checks, key, models := s.handler, s.checks, s.key, s.models
	if req.Role == "embeddings" {
		handler, checks = s.embeds.reply, nil
	} else if !s.anySlice {
		checks = append([]func(Request) error{slice}, checks...)
	}
	s.mu.Unlock()

	if got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); key != "" && got != key {
		reply := Fail(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: "+got+".")
		s.send(w, r, req, reply)
		return
	}
	if models != nil && r.Method == http.MethodGet && r.URL.Path == "/v1/models" {
		s.send(w, r, req, list(models))
		return
	}
	for _, check := range checks {
		if fault == nil {
			fault = check(req)
		}
	}
	if fault != nil {
		s.mu.Lock()
		s.faults = append(s.faults, fmt.Sprintf("request %d (%s): %v", req.N, req.Role, fault))
		s.mu.Unlock()
		s.send(w, r, req, badRequest(fault))
		return
	}
	s.send(w, r, req, handler(req))
}

// badRequest is how the real provider words a 400.
func badRequest(fault error) Reply {
	reply := Fail(http.StatusBadRequest, "invalid_request_error", "", fault.Error())
	if schema, ok := errors.AsType[*schemaError](fault); ok {
		reply.Body, _ = json.Marshal(errorBody(fault.Error(), "invalid_request_error", schema.param, ""))
	}
	if p, ok := errors.AsType[*pathError](fault); ok {
		reply.Status = p.status
	}
	return reply
}
