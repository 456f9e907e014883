package discordtest

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

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
	*platformtest.Host
	mux    *http.ServeMux
	app    Application
	bot    User
	token  string
	users  map[string]*User
	guilds map[string]*guild
	places map[string]*place
	files  map[string]*kept
	fixed  uint64 // numbers of what is furnished
	last   uint64 // the newest number that depends on time
	edited time.Time

	nonces    []nonce
	commands  []Command
	rang      map[string]bool // messages that somebody was notified of
	presses   map[string]*Interaction
	typings   map[string]time.Time
	limits    limits
	gateway   gateway
	repeat    int
	disorder  bool
	forbidden bool // no privileged intent is enabled
}

// New starts a server on a free port of 127.0.0.1. It is closed at the end of the test.
func New(t platformtest.TB) *Server {
	t.Helper()
	return platformtest.Begin(t, Start)
}

// Start starts a server on addr, which must be a loopback address; port 0 takes a free one.
func Start(addr string) (*Server, error) {
	s := &Server{
		Host: platformtest.NewHost(), mux: http.NewServeMux(), fixed: firstID, repeat: 1,
		users: map[string]*User{}, guilds: map[string]*guild{}, places: map[string]*place{}, files: map[string]*kept{},
		rang: map[string]bool{}, presses: map[string]*Interaction{}, typings: map[string]time.Time{},
	}
	s.gateway, s.limits = newGateway(), newLimits(DefaultRates)
	s.bot = User{ID: s.fixedID(), Username: "switchboard-dev", Bot: true}
	s.users[s.bot.ID] = &s.bot
	s.token = s.newToken("")
	s.app = Application{ID: s.bot.ID, Name: "Switchboard", BotPublic: true}
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
func (s *Server) Token() string {
	s.Lock()
	defer s.Unlock()
	return s.token
}

// Login gives the bot the token in had, settings of an earlier server, if it can be the
// bot's own, else a new one, and returns the settings.
func (s *Server) Login(had map[string]string) map[string]string {
	s.Change(func() { s.token = s.newToken(had["token"]) })
	return map[string]string{"token": s.Token()}
}

func (s *Server) newToken(had string) string {
	return platformtest.Token(had, base64.RawURLEncoding.EncodeToString([]byte(s.bot.ID))+".Gfake0.")
}

// Revoke makes the bot's token one that the platform does not know.
func (s *Server) Revoke() { s.Change(func() { s.token += "x" }) }

// Bot is the bot's own account.
func (s *Server) Bot() User { return s.bot }

// AppID is the ID of the bot's application.
func (s *Server) AppID() string { return s.app.ID }

// ForbidContent makes the portal's switch of the message content intent off, as it is for
// a new application.
func (s *Server) ForbidContent(on bool) { s.Change(func() { s.forbidden = on }) }

// fixedID numbers what is furnished. It is called under the lock or before Serve.
func (s *Server) fixedID() string {
	s.fixed++
	return strconv.FormatUint(s.fixed, 10)
}

// epoch is where the platform's numbers begin.
//
// Source: https://docs.discord.com/developers/reference#snowflakes.
const epoch = 1_420_070_400_000

// id makes a number that grows with time. It is called under the lock.
func (s *Server) id() string {
	s.last = max(s.last+1, uint64(s.Now().UnixMilli()-epoch)<<22)
	return strconv.FormatUint(s.last, 10)
}

// number reads an ID; what is none is 0.
func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// instant writes a time as the platform does.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }
