package discord

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
	"switchboard/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait.
const patience = time.Minute

// quick is a pace for tests.
func quick() pace {
	p := defaultPace
	p.heartbeat, p.invalid, p.againFirst, p.againMost = 100*time.Millisecond, 5*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	return p
}

func literal(token string) channels.Credential {
	return channels.NewCredential(func() (secrets.Secret, error) { return secrets.Secret(token), nil })
}

// client is a channel on a REST API at api, at a quick pace.
func client(t *testing.T, api, token string) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Token, cfg.APIURL = literal(token), api
	c := New("dc", cfg, slog.New(slog.DiscardHandler))
	c.pace = quick()
	c.refused.Every, c.refused.Known = time.Hour, []time.Duration{time.Hour}
	t.Cleanup(c.wire.Close)
	return c
}

// rig is a channel on a fake platform, with its sink and two people in a guild.
type rig struct {
	*discordtest.Server
	c       *Client
	sink    *channelstest.Sink
	ada     discordtest.User
	guild   string
	general string
	stop    context.CancelFunc
	done    chan error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := discordtest.New(t)
	s.IdentifyEvery(0)
	r := &rig{Server: s, c: client(t, s.APIURL(), s.Token()), sink: channelstest.NewSink(), ada: s.AddUser("Ada Lovelace"), done: make(chan error, 1)}
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
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.done = stop, make(chan error, 1)
	done := r.done
	go func() { done <- r.c.Run(ctx, r.sink) }()
	t.Cleanup(func() {
		stop()
		<-done
		done <- nil
	})
}

// halt ends Run and returns what it returned.
func (r *rig) halt(t *testing.T) error {
	t.Helper()
	r.stop()
	err := r.ended(t)
	r.until(t, func() bool { return !r.Connected() })
	return err
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

// until waits until the platform is so.
func (r *rig) until(t *testing.T, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Await(ctx, cond); err != nil {
		t.Fatal("what is waited for does not come")
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

// direct is Ada's own chat.
func (r *rig) direct() channels.Conversation { return conv(r.Direct(r.ada.ID).ID, channels.Direct) }

func conv(id string, kind channels.ConversationKind) channels.Conversation {
	return channels.Conversation{Channel: "dc", ID: channels.ConversationID(id), Kind: kind, Place: id}
}

func outbound(c channels.Conversation, text string) channels.Outbound {
	return channels.Outbound{Conversation: c, Body: channels.Body{Text: text}, Nonce: "n", Last: true}
}

// A proxy stands between a channel and its platform, so that connections can be cut and refused.
type proxy struct {
	to, addr string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	wg       sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{to: strings.TrimPrefix(to, "http://"), addr: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	p.up(t)
	t.Cleanup(func() {
		p.down()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) api() string { return "http://" + p.addr + "/api/v10" }

func (p *proxy) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.addr = listener, listener.Addr().String()
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(conn) })
		}
	})
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	for _, c := range []net.Conn{near, far} {
		p.mu.Lock()
		p.conns[c] = true
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.conns, c)
		}()
	}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = near.Close()
			_ = far.Close()
		})
	}
	wg.Wait()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) down() {
	p.mu.Lock()
	_ = p.listener.Close()
	p.mu.Unlock()
	p.cut()
	time.Sleep(5 * time.Millisecond) // a kept connection is known to be closed only then
}
