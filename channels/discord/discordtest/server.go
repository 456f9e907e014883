package discordtest

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

// firstID is the number of the bot and of what is furnished; the same each time, so that a
// bot that kept its memory knows the places again.
const firstID = 100_000_000_000_000_000

// A Server is the whole platform. Its methods may be called from several goroutines at once.
type Server struct {
	*world
	*events
	*sockets
	*people
	*calls
	mux *http.ServeMux
}

// New starts a server on a free port of 127.0.0.1. It is closed at the end of the test.
func New(t platformtest.TB) *Server {
	t.Helper()
	return platformtest.Begin(t, Start)
}

// Start starts a server on addr, which must be a loopback address; port 0 takes a free one.
func Start(addr string) (*Server, error) {
	w := newWorld()
	e := &events{world: w, gateway: newGateway(), repeat: 1}
	s := &Server{
		world: w, events: e, sockets: &sockets{e}, people: &people{events: e}, calls: &calls{events: e, limits: newLimits(DefaultRates)}, mux: http.NewServeMux(),
	}
	s.routes()
	if err := s.Serve(addr, isAPI, s.mux.ServeHTTP, s); err != nil {
		return nil, err
	}
	return s, nil
}

// isAPI knows the paths that programs call.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/gateway") || strings.HasPrefix(path, "/attachments/")
}

// APIURL is where the REST API is, as the channel's settings want it.
func (s *Server) APIURL() string { return s.URL() + "/api/v10" }

// Token is the bot's.
func (s *world) Token() string {
	s.Lock()
	defer s.Unlock()
	return s.token
}

// Login gives the bot the token in had, settings of an earlier server, if it can be the
// bot's own, else a new one, and returns the settings.
func (s *world) Login(had map[string]string) map[string]string {
	s.Change(func() { s.token = s.newToken(had["token"]) })
	return map[string]string{"token": s.Token()}
}

// Revoke makes the bot's token one that the platform does not know.
func (s *world) Revoke() { s.Change(func() { s.token += "x" }) }

// Bot is the bot's own account.
func (s *world) Bot() User { return s.bot }

// AppID is the ID of the bot's application.
func (s *world) AppID() string { return s.app.ID }

// ForbidContent makes the portal's switch of the message content intent off, as it is for
// a new application.
func (s *world) ForbidContent(on bool) { s.Change(func() { s.forbidden = on }) }
