package slacktest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/channels/platformtest"
)

// A workspace is what there is: users, places and files, and the app. Its methods in lower case are
// called under the lock.
type workspace struct {
	*platformtest.Host
	team     string
	app      string // the app's ID
	botToken string
	appToken string
	revoked  bool
	scopes   []string
	signing  string // the signing secret
	bot      *User
	host     string // as the app called the platform last

	users  map[string]*User
	places map[string]*place
	files  map[string]*file
	ids    int64
	lastTS int64 // microseconds
}

func newWorkspace() *workspace {
	s := &workspace{
		Host: platformtest.NewHost(), team: "T0FAKE001", app: "A0FAKE001",
		botToken: "xoxb-1000000000-2000000000-fakefakefakefakefakefake", appToken: "xapp-1-A0FAKE001-3000000000-fakefakefakefakefakefake",
		signing: "8f742231b10e8888abcd99yyyzzz85a5", scopes: DefaultScopes,
		users: map[string]*User{}, places: map[string]*place{}, files: map[string]*file{},
	}
	s.bot = s.addUser("switchboard", s.team)
	s.bot.IsBot, s.bot.bot = true, "B0FAKE001"
	return s
}

// id makes an ID that begins with prefix.
func (s *workspace) id(prefix string) string {
	s.ids++
	return fmt.Sprintf("%s0FAKE%05d", prefix, s.ids)
}

// stamp makes a ts: seconds and microseconds, unique and growing.
//
// Source: https://docs.slack.dev/messaging/retrieving-messages.
func (s *workspace) stamp() string {
	s.lastTS = max(s.lastTS+1, s.Now().UnixMicro())
	return formatTS(s.lastTS)
}

// address is where the platform is, as the app knows it.
func (s *workspace) address() string {
	if s.host != "" {
		return "http://" + s.host
	}
	return s.URL()
}

func formatTS(micro int64) string { return fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6) }

// parseTS is a ts in microseconds; 0 when it is none.
func parseTS(ts string) int64 {
	seconds, rest, ok := strings.Cut(ts, ".")
	whole, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return 0
	}
	if !ok {
		return whole * 1e6
	}
	part, err := strconv.ParseInt((rest + "000000")[:6], 10, 64)
	if err != nil {
		return 0
	}
	return whole*1e6 + part
}

// at is the time of a ts.
func at(ts string) time.Time { return time.UnixMicro(parseTS(ts)) }

func (s *workspace) addUser(name, team string) *User {
	handle := strings.ToLower(strings.ReplaceAll(name, " ", "."))
	u := &User{
		ID: s.id("U"), Team: team, Name: handle, RealName: name, Profile: Profile{DisplayName: name, RealName: name, Team: team},
	}
	s.users[u.ID] = u
	return u
}

// escape writes a text as the platform tells it.
//
// Source: https://docs.slack.dev/messaging/formatting-message-text "Escaping text".
func (s *workspace) escape(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return strings.ReplaceAll(text, "@"+s.bot.Name, "<@"+s.bot.ID+">")
}

// unescape is the reverse, for people to read.
func (s *workspace) unescape(text string) string {
	for id, u := range s.users {
		text = strings.ReplaceAll(text, "<@"+id+">", "@"+u.Name)
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}
