package slack

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, 8) } // they wait for the platform more than they work

// patience bounds every wait.
const patience = channelstest.Patience

// quick is a pace for tests.
var quick = pace{
	firstRetry: 5 * time.Millisecond, mostRetry: 50 * time.Millisecond,
	interaction: 2 * time.Second, mostWait: time.Minute, twin: 300 * time.Millisecond, shares: 5 * time.Millisecond,
}

// client is a channel on a Web API at api, at a quick pace.
func client(t *testing.T, api string, s *slacktest.Server) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.BotToken, cfg.AppToken, cfg.APIURL, cfg.SigningSecret = channelstest.Literal(s.BotToken()), channelstest.Literal(s.AppToken()), api, secrets.Secret(s.SigningSecret())
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	c := New("sl", cfg, slog.New(slog.DiscardHandler))
	c.pace = quick
	c.paces.span = 100 * time.Millisecond
	c.Refused.Every, c.Refused.Known = time.Hour, []time.Duration{time.Hour}
	t.Cleanup(c.Wire.Close)
	return c
}

// rig is a channel on a fake platform, with its sink.
type rig struct {
	*slacktest.Server
	*channelstest.Running
	c   *Client
	ada slacktest.User
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := slacktest.New(t)
	s.Limit(false) // these tests are of one call each, at a quick pace
	return &rig{Server: s, c: client(t, s.APIURL(), s), Running: channelstest.NewRunning(), ada: s.AddUser("Ada Lovelace")}
}

// run starts Run until the test ends or halt.
func (r *rig) run(t *testing.T) {
	t.Helper()
	r.Start(t, r.c.Run)
	r.connected(t)
}

// connected waits for a socket.
func (r *rig) connected(t *testing.T) {
	t.Helper()
	testkit.Await(t, "the socket is open", patience, func() bool { return r.Sockets() > 0 || r.Over() })
}

func (r *rig) halt(t *testing.T) {
	t.Helper()
	if err := r.Halt(t); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the socket is closed", patience, func() bool { return r.Sockets() == 0 })
}

func conv(channel, thread string, kind channels.ConversationKind) channels.Conversation {
	return channels.Conversation{Channel: "sl", ID: conversationID(channel, thread), Kind: kind, Place: channel}
}

func (r *rig) direct() channels.Conversation { return conv(r.Direct(r.ada.ID), "", channels.Direct) }

func outbound(c channels.Conversation, text, nonce string) channels.Outbound {
	return channels.Outbound{Conversation: c, Body: channels.Body{Text: text}, Nonce: nonce, Last: true}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// An adapter that would have to be called says so, and does nothing.
func TestModeEventsIsNotAvailable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.Mode = ModeEvents
	if err := r.c.Run(t.Context(), r.Sink); err == nil || !strings.Contains(err.Error(), "not available in this build") {
		t.Errorf("Run returned %v", err)
	}
}
