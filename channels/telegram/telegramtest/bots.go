package telegramtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"switchboard/channels/platformtest"
)

// A Bot is an account for a program. The fields may be read at any time.
type Bot struct {
	User  User
	Token string

	revoked  bool
	privacy  bool // gets only what concerns it in groups
	queue    []update
	allowed  []string // nil: the default
	poll     int64    // number of the newest getUpdates
	polling  int      // getUpdates that wait
	polled   time.Time
	hook     *webhook
	commands map[scopeKey][]Command
	pressed  map[string]*press
	typing   map[chatKey]time.Time
}

// An update waits until the bot confirms it.
type update struct {
	id  int64
	raw json.RawMessage
	at  time.Time
}

// AddBot makes another bot; the name is its username, which has Latin letters.
func (s *Server) AddBot(name string) *Bot {
	b := &Bot{commands: map[scopeKey][]Command{}, pressed: map[string]*press{}, typing: map[chatKey]time.Time{}}
	s.Change(func() {
		id := int64(7_000_000_001 + len(s.bots))
		first, _, _ := strings.Cut(name, "_")
		b.User = User{ID: id, IsBot: true, FirstName: strings.ToUpper(first[:1]) + first[1:], Username: name}
		b.Token = fmt.Sprintf("%d:AAfake-telegram-without-account-%04d", id, len(s.bots))
		s.bots = append(s.bots, b)
		s.users[id] = &b.User
	})
	return b
}

// Bot is the first bot.
func (s *Server) Bot() *Bot {
	s.Lock()
	defer s.Unlock()
	return s.bots[0]
}

// Revoke makes the bot's token invalid, or valid again.
func (s *Server) Revoke(b *Bot, revoked bool) { s.Change(func() { b.revoked = revoked }) }

// Login gives the first bot the token in had, settings of an earlier server, if it can be
// the bot's own, else a new one, and returns the settings. The former one is good no more.
func (s *Server) Login(had map[string]string) map[string]string {
	b := s.Bot()
	s.Change(func() { b.Token = platformtest.Token(had["token"], itoa(b.User.ID)+":") })
	return map[string]string{"token": s.Bot().Token}
}

// SetPrivacy switches the bot's privacy mode; it is off at first. When it is on, the
// bot is told in groups only of commands, replies to it and messages that name it.
//
// Source: https://core.telegram.org/bots/features#privacy-mode
func (s *Server) SetPrivacy(b *Bot, on bool) { s.Change(func() { b.privacy = on }) }

// getMe answers with more than other places tell of a bot.
func (s *calls) getMe(b *Bot, _ *params) any {
	return struct {
		User
		CanJoinGroups   bool `json:"can_join_groups"`
		CanReadAll      bool `json:"can_read_all_group_messages"`
		SupportsInline  bool `json:"supports_inline_queries"`
		CanBusiness     bool `json:"can_connect_to_business"`
		HasMainWebApp   bool `json:"has_main_web_app"`
		HasTopicsInChat bool `json:"has_topics_enabled"`
	}{User: b.User, CanJoinGroups: true, CanReadAll: !b.privacy}
}

// logOut and close would stop a bot's session elsewhere; there is none.
func (s *calls) logOut(*Bot, *params) any { return true }
