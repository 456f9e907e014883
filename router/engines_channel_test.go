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
	"switchboard/router/routertest"
)

// An engine whose lease was taken over, without its knowledge, lets go of the channel
// as soon as it hears of it, and waits for it like any other.
func TestChannelTakenOverIsLetGoAtOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c1", "ada", "one")
	a.SettledAs("sent", 1) // so that a has nothing to do by which it would hear of it, and take the channel back first
	a.bereave("channel")
	a.Until("the other engine has the channel", b.Connected)
	began := time.Now()
	a.Until("the former lets go", func() bool { return !a.Connected() })
	testkit.Within(t, time.Since(began), 10*time.Second) // a look that nothing wakes comes after 15 s
	a.Platform.Say("c1", "ada", "two")
	if sent := a.Await(2); len(sent) != 2 || sent[1].Text != "re: two" {
		t.Errorf("sent %q", routertest.Texts(sent))
	}
	if status := a.Router.Connections.Statuses()[0]; !strings.Contains(status.Reason, "another engine holds") {
		t.Errorf("the former says %+v", status)
	}
	b.End()
	a.Until("the former has it again", a.Connected)
	a.Platform.Say("c1", "ada", "three")
	a.Await(3)
}

// bereave takes all leases of a kind from whoever holds them, and tells nobody.
func (r *rig) bereave(kind string) {
	r.T.Helper()
	db, err := sql.Open("postgres", r.Address)
	if err != nil {
		r.T.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(r.T.Context(), "UPDATE leases SET owner = NULL WHERE kind = $1", kind); err != nil {
		r.T.Fatal(err)
	}
}

// The holder was asked to stop a turn, and is as good as dead: whoever takes it over
// ends it, and runs none of it. When the dead comes back its turn is broken off.
func TestCancelOfADeadEnginesTurnIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Wakes = routertest.Deaf
	a.Config.Workers = 1 // which the turn has, so that a does not take it again itself
	back := make(chan struct{})
	a.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		<-back
		return "re: " + turn.Message.Text, nil
	}
	b.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if ctx.Err() == nil {
			t.Error("it runs as if nothing had been said")
		}
		return "", nil
	}
	routertest.StartBusy(a.Rig, b.Rig, "c1", "ada", "long")
	if err := b.Router.Cancel(t.Context(), a.Turns()[0].ID, people.LocalActor("owner")); err != nil {
		t.Fatal(err)
	}
	a.bereave("session")
	a.Until("it is ended", func() bool { return a.Turns()[0].State == "cancelled" })
	close(back)
	time.Sleep(500 * time.Millisecond)
	a.Platform.Say("c1", "ada", "/status") // a hears of nothing by itself
	a.Await(2)
	if sent := routertest.Texts(a.Platform.Sent()); slices.Contains(sent, "re: long") || sent[0] != "Cancelled." {
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
		r.Safe = func() bool { return !unsafe.Load() }
		r.Guard = func(ctx context.Context) (context.Context, context.CancelFunc) {
			guarded, cancel := context.WithCancelCause(ctx)
			if again.Load() {
				return guarded, func() { cancel(nil) }
			}
			stop := context.AfterFunc(ending, func() { cancel(context.Cause(ending)) })
			return guarded, func() { stop(); cancel(nil) }
		}
		r.Platform.Next(channelstest.Fault{Delay: 30 * time.Second})
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Until("it is on its way", func() bool { return len(r.Platform.Tries()) == 1 })
		unsafe.Store(true)
		end(tools.ErrUnsafe)
		r.Until("it is in doubt", func() bool { return len(r.Deliveries("unknown")) == 1 })
		if d := r.Deliveries("unknown")[0]; d.Outcome != "lease_in_doubt" {
			t.Errorf("%+v", d)
		}
		r.Accept(routertest.Event(1, "c2", "bob", "/help"))
		r.Until("more waits", func() bool { return len(r.Deliveries("pending")) == 1 })
		time.Sleep(1200 * time.Millisecond)
		if n := len(r.Platform.Tries()); n != 1 {
			t.Fatalf("%d sends while nothing is sure", n)
		}
		again.Store(true)
		unsafe.Store(false)
		r.Await(2)
		r.Same("the conversation reads", routertest.Texts(r.Platform.SentIn("c1")), []string{"(repeated) re: hello"})
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
		r.Readers = []router.Attached{{Channel: panes[i], Config: router.DefaultChannelConfig()}}
	}
	routertest.StartBoth(a.Rig, b.Rig)
	a.Until("both listen", func() bool { return panes[0].heard("") > 0 && panes[1].heard("") > 0 })
	hello := routertest.Event(1, "s1", "ada", "hello")
	hello.Conversation.Channel, hello.Sender.Person = "pane", "ada"
	a.Accept(hello)
	a.Until("it is answered", func() bool { return a.Turns()[0].State == "done" })
	a.Until("both heard of message and answer", func() bool {
		return panes[0].heard("s1") >= 2 && panes[1].heard("s1") >= 1
	})
}

// An edit that makes the work worthless reaches the engine that does it.
func TestEditRestartsATurnOfAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Config.Workers, a.Config.OnEdit = 1, "restart"
	defer a.Brain.Held("busy")()
	var tries atomic.Int32
	b.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "wrong" && tries.Add(1) == 1 {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "re: " + turn.Message.Text, nil
	}
	routertest.StartBusy(a.Rig, b.Rig, "c2", "bob", "busy")
	id := a.Platform.Say("c1", "ada", "wrong")
	a.Until("the other engine works on it", func() bool { return b.Brain.Ran("wrong") == 1 })
	a.Platform.Edit("c1", id, "right")
	a.Until("it begins again", func() bool { return b.Brain.Ran("wrong") == 2 })
	a.Await(2)
}

// Who became a person on another engine is known here when their turn runs.
func TestNewPersonOfAnotherEngineIsKnownHere(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Channel.DM, b.Channel.DM = "open", "open"
	a.Config.Workers = 1
	defer a.Brain.Held("busy")()
	known := make(chan bool, 1)
	b.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
		known <- b.Roster.Named(turn.Person.Name) != nil
		return "re: " + turn.Message.Text, nil
	}
	routertest.StartBusy(a.Rig, b.Rig, "c1", "ada", "busy")
	a.Platform.Write(scripted.Message{Conversation: "c9", User: "zoe", Text: "hello"})
	a.Await(1)
	if !<-known {
		t.Error("the engine that answers does not know who asked")
	}
}
