package telegramtest

import (
	"net/http"
	"strings"

	"switchboard/channels/platformtest"
)

type (
	// Call is one request of the bot that reached the platform.
	Call = platformtest.Call
	// Fault is what goes wrong with calls.
	Fault = platformtest.Fault
	// File is what somebody sends.
	File = platformtest.File
)

// A Server is the whole platform: bots, users, chats. Its methods may be called
// from several goroutines at once.
type Server struct {
	*world
	*people
	*calls
}

// people are those who write, press and go, on the world that they share with the bots.
type people struct{ *world }

// calls are what bots ask the platform to do.
type calls struct {
	*world
	limits *limiter
}

// New starts a server on a free port of 127.0.0.1 with one bot. It is closed at the
// end of the test.
func New(t platformtest.TB) *Server {
	t.Helper()
	return platformtest.Begin(t, Start)
}

// Start starts a server with one bot on addr, which must be a loopback address;
// port 0 takes a free one.
func Start(addr string) (*Server, error) {
	s := newServer()
	if err := s.Serve(addr, isAPI, s.serve, s); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer() *Server {
	w := newWorld()
	s := &Server{world: w, people: &people{w}, calls: &calls{world: w}}
	s.AddBot("switchboard_dev_bot")
	return s
}

// isAPI knows the paths of the Bot API.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/bot") || strings.HasPrefix(path, "/file/bot")
}

// serve sends calls of bots and downloads their ways.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/bot") {
		s.serveCall(w, r)
	} else {
		s.serveFile(w, r)
	}
}

// APIURL is where the Bot API is, as the channel's settings want it.
func (s *Server) APIURL() string { return s.URL() }

// Token is the first bot's. It is the same in every server, until Login.
func (s *Server) Token() string { return s.Bot().Token }
