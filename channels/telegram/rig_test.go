package telegram

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait.
const patience = time.Minute

// quick is a pace for tests.
var quick = pace{
	poll: 2 * time.Second, silence: time.Second,
	conflict:   200 * time.Millisecond,
	albumQuiet: 40 * time.Millisecond, albumMost: 200 * time.Millisecond, albumLook: 5 * time.Millisecond,
	check:    10 * time.Millisecond,
	idleFrom: 20 * time.Millisecond, idleFirst: 50 * time.Millisecond, idleMost: 100 * time.Millisecond,
}

func literal(token string) channels.Credential {
	return channels.NewCredential(func() (secrets.Secret, error) { return secrets.Secret(token), nil })
}

// client is a channel on a Bot API at api, at a quick pace.
func client(api, token string) *Client {
	c := New("tg", Config{Token: literal(token), Mode: ModePolling, APIURL: api}, slog.New(slog.DiscardHandler))
	c.pace = quick
	c.refused.Every, c.refused.Known = time.Hour, []time.Duration{time.Hour}
	return c
}

// rig is a channel on a fake platform, with its sink.
type rig struct {
	*telegramtest.Server
	c    *Client
	sink *channelstest.Sink
	ada  telegramtest.User
	stop context.CancelFunc
	done chan error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := telegramtest.New(t)
	r := &rig{Server: s, c: client(s.URL(), s.Token()), sink: channelstest.NewSink(), ada: s.AddUser("Ada Lovelace"), done: make(chan error, 1)}
	t.Cleanup(r.c.wire.Close)
	return r
}

// run starts Run until the test ends.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.done <- r.c.Run(ctx, r.sink) }()
	t.Cleanup(func() {
		stop()
		r.ended(t)
	})
}

// ended waits until Run returned.
func (r *rig) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(patience):
		t.Fatal("Run does not return")
		return nil
	}
}

// await waits until the sink has n events and returns them.
func (r *rig) await(t *testing.T, n int) []channels.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.sink.Await(ctx, func() bool { return len(r.sink.Events()) >= n }); err != nil {
		t.Fatalf("%d events of %d came: %+v", len(r.sink.Events()), n, r.sink.Events())
	}
	return r.sink.Events()
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
