package slack

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/slack/slacktest"
	"switchboard/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait.
const patience = 20 * time.Second

// quick is a pace for tests.
var quick = pace{
	again: 5 * time.Millisecond, mostAgain: 50 * time.Millisecond, history: 10 * time.Millisecond, burst: 50,
	interaction: 2 * time.Second, shares: 5 * time.Millisecond,
}

func literal(token string) channels.Credential {
	return channels.NewCredential(func() (secrets.Secret, error) { return secrets.Secret(token), nil })
}

// client is a channel on a Web API at api, at a quick pace.
func client(t *testing.T, api string, s *slacktest.Server) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.BotToken, cfg.AppToken, cfg.APIURL, cfg.SigningSecret = literal(s.BotToken()), literal(s.AppToken()), api, secrets.Secret(s.SigningSecret())
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	c := New("sl", cfg, slog.New(slog.DiscardHandler))
	c.pace = quick
	c.refused.Every, c.refused.Known = time.Hour, []time.Duration{time.Hour}
	t.Cleanup(c.wire.Close)
	return c
}

// rig is a channel on a fake platform, with its sink.
type rig struct {
	*slacktest.Server
	c    *Client
	sink *channelstest.Sink
	ada  slacktest.User
	stop context.CancelFunc
	done chan error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := slacktest.New(t)
	return &rig{Server: s, c: client(t, s.APIURL(), s), sink: channelstest.NewSink(), ada: s.AddUser("Ada Lovelace")}
}

// run starts Run until the test ends or halt.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.done = stop, make(chan error, 1)
	done := r.done
	go func() { done <- r.c.Run(ctx, r.sink) }()
	t.Cleanup(func() {
		stop()
		r.ended(t)
	})
	r.connected(t)
}

// connected waits for a socket.
func (r *rig) connected(t *testing.T) {
	t.Helper()
	r.until(t, "the socket is open", func() bool { return r.Sockets() > 0 || len(r.done) > 0 })
}

func (r *rig) halt(t *testing.T) {
	t.Helper()
	r.stop()
	if err := r.ended(t); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the socket is closed", func() bool { return r.Sockets() == 0 })
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

// until waits until something is so.
func (r *rig) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in %s", what, patience)
		}
	}
}

func conv(channel, thread string, kind channels.ConversationKind) channels.Conversation {
	return channels.Conversation{Channel: "sl", ID: conversationID(channel, thread), Kind: kind, Place: channel}
}

func (r *rig) direct() channels.Conversation { return conv(r.Direct(r.ada.ID), "", channels.Direct) }

func outbound(c channels.Conversation, text, nonce string) channels.Outbound {
	return channels.Outbound{Conversation: c, Body: channels.Body{Text: text}, Nonce: nonce, Last: true}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// runEvents starts Run in mode events until the test ends.
func runEvents(t *testing.T, r *rig) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.done = stop, make(chan error, 1)
	done := r.done
	go func() { done <- r.c.Run(ctx, r.sink) }()
	t.Cleanup(func() {
		stop()
		r.ended(t)
	})
	r.until(t, "it is heard of", func() bool { return r.sink.Frames() > 0 })
}
