package router_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/people"
)

// An engine whose lease was taken over, without its knowledge, lets go of the channel
// as soon as it hears of it, and waits for it like any other.
func TestChannelTakenOverIsLetGoAtOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	startBoth(a, b)
	a.platform.Say("c1", "ada", "one")
	a.settledAs("sent", 1) // so that a has nothing to do by which it would hear of it, and take the channel back first
	a.bereave("channel")
	a.until("the other engine has the channel", b.connected)
	began := time.Now()
	a.until("the former lets go", func() bool { return !a.connected() })
	testkit.Within(t, time.Since(began), 10*time.Second) // a look that nothing wakes comes after 15 s
	a.platform.Say("c1", "ada", "two")
	if sent := a.await(2); len(sent) != 2 || sent[1].Text != "re: two" {
		t.Errorf("sent %q", texts(sent))
	}
	if status := a.router.Lines.Statuses()[0]; !strings.Contains(status.Reason, "another engine holds") {
		t.Errorf("the former says %+v", status)
	}
	b.end()
	a.until("the former has it again", a.connected)
	a.platform.Say("c1", "ada", "three")
	a.await(3)
}

// bereave takes all leases of a kind from whoever holds them, and tells nobody.
func (r *rig) bereave(kind string) {
	r.t.Helper()
	db, err := sql.Open("postgres", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(r.t.Context(), "UPDATE leases SET owner = NULL WHERE kind = $1", kind); err != nil {
		r.t.Fatal(err)
	}
}

// The holder was asked to stop a turn, and is as good as dead: whoever takes it over
// ends it, and runs none of it. When the dead comes back its turn is broken off.
func TestCancelOfADeadEnginesTurnIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.wakes = deaf
	a.config.Workers = 1 // which the turn has, so that a does not take it again itself
	back := make(chan struct{})
	a.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		<-back
		return "re: " + turn.Message.Text, nil
	}
	b.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if ctx.Err() == nil {
			t.Error("it runs as if nothing had been said")
		}
		return "", nil
	}
	startBoth(a, b)
	a.begins("c1", "ada", "long")
	if err := b.router.Cancel(t.Context(), a.turns()[0].ID, people.LocalActor("owner")); err != nil {
		t.Fatal(err)
	}
	a.bereave("session")
	a.until("it is ended", func() bool { return a.turns()[0].State == "cancelled" })
	close(back)
	time.Sleep(500 * time.Millisecond)
	a.platform.Say("c1", "ada", "/status") // a hears of nothing by itself
	a.await(2)
	if sent := texts(a.platform.Sent()); slices.Contains(sent, "re: long") || sent[0] != "Cancelled." {
		t.Errorf("sent %q", sent)
	}
}

// A send is ended when the lease can no longer be counted on. Nobody knows what became
// of it; it is repeated, marked, when the lease is sure again, and the platform is not
// blamed for it.
func TestSendEndsBeforeTheLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var unsafe, again atomic.Bool
		ending, end := context.WithCancelCause(t.Context())
		r.safe = func() bool { return !unsafe.Load() }
		r.guard = func(ctx context.Context) (context.Context, context.CancelFunc) {
			guarded, cancel := context.WithCancelCause(ctx)
			if again.Load() {
				return guarded, func() { cancel(nil) }
			}
			stop := context.AfterFunc(ending, func() { cancel(context.Cause(ending)) })
			return guarded, func() { stop(); cancel(nil) }
		}
		r.platform.Next(channelstest.Fault{Delay: 30 * time.Second})
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.until("it is on its way", func() bool { return len(r.platform.Tries()) == 1 })
		unsafe.Store(true)
		end(tools.ErrUnsafe)
		r.until("it is in doubt", func() bool { return len(r.deliveries("unknown")) == 1 })
		if d := r.deliveries("unknown")[0]; d.Outcome != "lease_in_doubt" {
			t.Errorf("%+v", d)
		}
		r.accept(event(1, "c2", "bob", "/help"))
		r.until("more waits", func() bool { return len(r.deliveries("pending")) == 1 })
		time.Sleep(1200 * time.Millisecond)
		if n := len(r.platform.Tries()); n != 1 {
			t.Fatalf("%d sends while nothing is sure", n)
		}
		again.Store(true)
		unsafe.Store(false)
		r.await(2)
		r.same("the conversation reads", texts(r.platform.SentIn("c1")), []string{"(repeated) re: hello"})
	})
}

// A pane is a channel whose clients read for themselves; it counts what it is told.
type pane struct {
	mu    sync.Mutex
	woken []channels.ConversationID
}

func (*pane) Name() string { return "pane" }
func (*pane) Kind() string { return "pane" }
func (*pane) Run(ctx context.Context, _ channels.Sink) error {
	<-ctx.Done()
	return nil
}

func (*pane) Send(context.Context, channels.Outbound) (channels.MessageID, error) {
	return "", channels.ErrNotConnected
}
func (*pane) Features(channels.Conversation) channels.Features { return channels.Features{} }

func (s *pane) Wake(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, conv)
}

func (s *pane) heard(conv channels.ConversationID) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.woken {
		if c == conv {
			n++
		}
	}
	return n
}

// A client may be connected to any engine, and hears of what any of them did.
func TestReadersOfEveryEngineAreWoken(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	panes := [2]*pane{{}, {}}
	for i, r := range []*rig{a, b} {
		r.readers = []router.Attached{{Channel: panes[i], Config: router.DefaultChannelConfig()}}
	}
	startBoth(a, b)
	a.until("both listen", func() bool { return panes[0].heard("") > 0 && panes[1].heard("") > 0 })
	hello := event(1, "s1", "ada", "hello")
	hello.Conversation.Channel, hello.Sender.Person = "pane", "ada"
	a.accept(hello)
	a.until("it is answered", func() bool { return a.turns()[0].State == "done" })
	a.until("both heard of message and answer", func() bool {
		return panes[0].heard("s1") >= 2 && panes[1].heard("s1") >= 1
	})
}

// An edit that makes the work worthless reaches the engine that does it.
func TestEditRestartsATurnOfAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.config.Workers, a.config.OnEdit = 1, "restart"
	defer a.brain.held("busy")()
	var tries atomic.Int32
	b.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "wrong" && tries.Add(1) == 1 {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "re: " + turn.Message.Text, nil
	}
	startBoth(a, b)
	a.begins("c2", "bob", "busy")
	id := a.platform.Say("c1", "ada", "wrong")
	a.until("the other engine works on it", func() bool { return b.brain.ran("wrong") == 1 })
	a.platform.Edit("c1", id, "right")
	a.until("it begins anew", func() bool { return b.brain.ran("wrong") == 2 })
	a.await(2)
}

// Who became a person on another engine is known here when their turn runs.
func TestNewPersonOfAnotherEngineIsKnownHere(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.channel.DM, b.channel.DM = "open", "open"
	a.config.Workers = 1
	defer a.brain.held("busy")()
	known := make(chan bool, 1)
	b.brain.think = func(_ context.Context, turn agent.Turn) (string, error) {
		known <- b.roster.Named(turn.Person.Name) != nil
		return "re: " + turn.Message.Text, nil
	}
	startBoth(a, b)
	a.begins("c1", "ada", "busy")
	a.platform.Write(scripted.Message{Conversation: "c9", User: "zoe", Text: "hello"})
	a.await(1)
	if !<-known {
		t.Error("the engine that answers does not know who asked")
	}
}
