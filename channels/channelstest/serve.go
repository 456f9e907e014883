package channelstest

import (
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

	calls sync.WaitGroup
	mu    sync.Mutex
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
	mux.HandleFunc("POST "+scripted.PathPoll, s.poll)
	mux.HandleFunc("POST "+scripted.PathPost, s.post)
	mux.HandleFunc("POST "+scripted.PathFind, s.find)
	mux.HandleFunc("POST "+scripted.PathChange, s.change)
	mux.HandleFunc("POST "+scripted.PathToast, s.toast)
	mux.HandleFunc("POST "+scripted.PathFetch, s.fetch)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		defer s.calls.Done()
		mux.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: counted, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	s.http, s.done = server, done
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
	s.calls.Wait()
	s.http = nil
}

func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	var call scripted.PollCall
	if read(w, r, &call) {
		updates, err := s.platform.Poll(r.Context(), call.Confirm)
		answer(w, scripted.Reply{Updates: updates}, err)
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	var call scripted.Post
	if read(w, r, &call) {
		id, err := s.platform.Post(r.Context(), call)
		answer(w, scripted.Reply{ID: id}, err)
	}
}

func (s *Server) find(w http.ResponseWriter, r *http.Request) {
	var call scripted.FindCall
	if read(w, r, &call) {
		id, ok, err := s.platform.Find(r.Context(), call.Conversation, call.Nonce)
		answer(w, scripted.Reply{ID: id, Found: ok}, err)
	}
}

func read(w http.ResponseWriter, r *http.Request, call any) bool {
	if err := json.NewDecoder(r.Body).Decode(call); err != nil {
		answer(w, scripted.Reply{Error: &scripted.Error{Code: "refused", Reason: err.Error()}}, nil)
		return false
	}
	return true
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
