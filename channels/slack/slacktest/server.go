package slacktest

import (
	"net/http"
	"slices"
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

// A Server is one workspace with one app in it. Its methods may be called from several
// goroutines at once.
type Server struct {
	*workspace
	*events
	*people
	*calls
}

// DefaultScopes are what the bot's token may do.
var DefaultScopes = []string{
	"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
	"groups:history", "groups:read", "im:history", "im:read", "mpim:history", "mpim:read", "reactions:read", "reactions:write", "users:read",
}

// Agent makes the app an agent.
//
// Source: https://docs.slack.dev/ai/agent-sessions/.
func (s *Server) Agent() { s.Scopes(append(slices.Clone(DefaultScopes), "assistant:write")...) }

// New starts a server on a free port of 127.0.0.1. It is closed at the end of the test.
func New(t platformtest.TB) *Server {
	t.Helper()
	return platformtest.Begin(t, Start)
}

// Start starts a server on addr, which must be a loopback address; port 0 takes a free one.
func Start(addr string) (*Server, error) {
	w := newWorkspace()
	e := &events{workspace: w, wire: newIntake()}
	s := &Server{
		workspace: w, events: e,
		people: &people{events: e, answered: map[string]*Answer{}, replies: map[string]*reply{}},
		calls:  &calls{events: e, statuses: map[string]string{}, limits: newLimiter()},
	}
	if err := s.Serve(addr, isAPI, s.serve, s); err != nil {
		return nil, err
	}
	return s, nil
}

// isAPI knows the paths that programs call.
func isAPI(path string) bool {
	for _, prefix := range []string{"/api/", "/link/", "/upload/", "/files-pri/", "/actions/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch first, _, _ := strings.Cut(r.URL.Path[1:], "/"); first {
	case "link":
		s.serveSocket(w, r)
	case "upload":
		s.serveUpload(w, r)
	case "files-pri":
		s.serveFile(w, r)
	case "actions":
		s.serveReply(w, r)
	default:
		s.serveCall(w, r)
	}
}

// APIURL is where the Web API is, as a bot is told it.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// BotToken is the app's token for the Web API.
func (s *Server) BotToken() string { return s.botToken }

// AppToken is the app's token for sockets.
func (s *Server) AppToken() string { return s.appToken }

// Login gives the app the tokens in had, settings of an earlier server, if they can be its
// own, else new ones, and returns the settings. The former ones are good no more.
func (s *Server) Login(had map[string]string) (settings map[string]string) {
	s.Change(func() {
		s.botToken = platformtest.Token(had["bot_token"], "xoxb-1000000000-2000000000-")
		s.appToken = platformtest.Token(had["app_token"], "xapp-1-"+s.app+"-3000000000-")
		settings = map[string]string{"bot_token": s.botToken, "app_token": s.appToken}
	})
	return settings
}

// SigningSecret is what calls to the app are signed with.
func (s *Server) SigningSecret() string { return s.signing }

// Bot is the app's user.
func (s *Server) Bot() User { return *s.bot }

// Team is the workspace.
func (s *Server) Team() string { return s.team }

// BotID is what messages of the bot name beside its user.
func (s *Server) BotID() string { return s.bot.bot }

// Revoke makes the platform reject both tokens; open sockets end.
func (s *Server) Revoke(on bool) {
	s.Change(func() { s.revoked = on })
	if on {
		s.DropSockets()
	}
}

// Scopes changes what the bot's token may do.
func (s *Server) Scopes(scopes ...string) { s.Change(func() { s.scopes = scopes }) }

// Drop cuts all connections there are, sockets among them.
func (s *Server) Drop() {
	s.Host.Drop()
	s.DropSockets()
}
