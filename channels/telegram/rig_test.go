package telegram

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/channels/wire"
	"switchboard/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, 8) } // they wait for the platform more than they work

// format and mark need nothing of a channel.
var format, mark = (*Client)(nil).Format, (*Client)(nil).Mark

// patience bounds every wait.
const patience = channelstest.Patience

// quick is a pace for tests.
var quick = pace{
	poll: 2 * time.Second, silence: time.Second,
	conflict:   200 * time.Millisecond,
	albumQuiet: 40 * time.Millisecond, albumMost: 200 * time.Millisecond, albumLook: 5 * time.Millisecond,
	idleFrom: 20 * time.Millisecond, idleFirst: 50 * time.Millisecond, idleMost: 100 * time.Millisecond,
}

// client is a channel on a Bot API at api, at a quick pace.
func client(api, token string) *Client {
	c := New("tg", Config{Token: channelstest.Literal(token), Mode: ModePolling, APIURL: api}, slog.New(slog.DiscardHandler))
	c.pace = quick
	c.Refused.Every, c.Refused.Known = time.Hour, []time.Duration{time.Hour}
	return c
}

// rig is a channel on a fake platform, with its sink.
type rig struct {
	*telegramtest.Server
	*channelstest.Running
	c   *Client
	ada telegramtest.User
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := telegramtest.New(t)
	r := &rig{Server: s, c: client(s.URL(), s.Token()), Running: channelstest.NewRunning(), ada: s.AddUser("Ada Lovelace")}
	t.Cleanup(r.c.Wire.Close)
	return r
}

// run starts Run until the test ends.
func (r *rig) run(t *testing.T) {
	t.Helper()
	r.Start(t, r.c.Run)
}

// settled waits until the platform keeps nothing for the bot.
func (r *rig) settled(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Await(ctx, func() bool { return len(r.Pending()) == 0 }); err != nil {
		t.Fatalf("%d updates are not confirmed", len(r.Pending()))
	}
}

// direct is Ada's own chat.
func (r *rig) direct() channels.Conversation { return conv(r.ada.ID, channels.Direct) }

func conv(chat int64, kind channels.ConversationKind) channels.Conversation {
	id := strconv.FormatInt(chat, 10)
	return channels.Conversation{Channel: "tg", ID: channels.ConversationID(id), Kind: kind, Place: id}
}

func outbound(c channels.Conversation, text string) channels.Outbound {
	return channels.Outbound{Conversation: c, Body: channels.Body{Text: text}, Nonce: "n", Last: true}
}

// hook sets a webhook, as another program with the token would.
func (r *rig) hook(t *testing.T, address string) {
	t.Helper()
	if err := r.c.do(t.Context(), "setWebhook", 0, wire.With((*bot.Bot).SetWebhook, &bot.SetWebhookParams{URL: address})); err != nil {
		t.Fatal(err)
	}
}

// An adapter that would have to be called says so, and does nothing.
func TestWebhookIsNotAvailable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.Mode = ModeWebhook
	if err := r.c.Run(t.Context(), r.Sink); err == nil || !strings.Contains(err.Error(), "not available in this build") || len(r.Calls()) != 0 {
		t.Errorf("Run returned %v after %d calls", err, len(r.Calls()))
	}
}
