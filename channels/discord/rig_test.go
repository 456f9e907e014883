package discord

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
	"switchboard/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, 8) } // they wait for the platform more than they work

// format and mark need nothing of a channel.
var format, mark = (*Client)(nil).Format, (*Client)(nil).Mark

// patience bounds every wait.
const patience = channelstest.Patience

// quick is a pace for tests.
func quick() pace {
	p := defaultPace
	p.heartbeat, p.invalid, p.firstRetry, p.mostRetry = 100*time.Millisecond, 5*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	p.start, p.startMost = 30*time.Millisecond, 60*time.Millisecond
	return p
}

// client is a channel on a REST API at api, at a quick pace.
func client(t *testing.T, api, token string) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Token, cfg.APIURL = channelstest.Literal(token), api
	c := New("dc", cfg, slog.New(slog.DiscardHandler))
	c.pace = quick()
	c.Refused.Every, c.Refused.Known = time.Hour, []time.Duration{time.Hour}
	t.Cleanup(c.Wire.Close)
	return c
}

// rig is a channel on a fake platform, with its sink and two people in a guild.
type rig struct {
	*discordtest.Server
	*channelstest.Running
	c       *Client
	ada     discordtest.User
	guild   string
	general string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := discordtest.New(t)
	s.IdentifyEvery(0)
	s.Limit(discordtest.Rates{}) // these tests are of one call each
	r := &rig{Server: s, c: client(t, s.APIURL(), s.Token()), Running: channelstest.NewRunning(), ada: s.AddUser("Ada Lovelace")}
	r.guild = s.AddGuild("Friends", r.ada)
	r.general = s.AddChannel(r.guild, "general").ID
	return r
}

// run starts Run until the test ends, and waits until the bot is connected.
func (r *rig) run(t *testing.T) {
	t.Helper()
	r.start(t)
	r.until(t, r.Connected)
}

func (r *rig) start(t *testing.T) {
	t.Helper()
	r.Start(t, r.c.Run)
}

// halt ends Run, which is to return nil.
func (r *rig) halt(t *testing.T) {
	t.Helper()
	err := r.Halt(t)
	r.until(t, func() bool { return !r.Connected() })
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until the platform is so.
func (r *rig) until(t *testing.T, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Await(ctx, cond); err != nil {
		t.Fatal("what is waited for does not come")
	}
}

// direct is Ada's own chat.
func (r *rig) direct() channels.Conversation { return conv(r.Direct(r.ada.ID).ID, channels.Direct) }

func conv(id string, kind channels.ConversationKind) channels.Conversation {
	return channels.Conversation{Channel: "dc", ID: channels.ConversationID(id), Kind: kind, Place: id}
}

func outbound(c channels.Conversation, text string) channels.Outbound {
	return channels.Outbound{Conversation: c, Body: channels.Body{Text: text}, Nonce: "n", Last: true}
}
