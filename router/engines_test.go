package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/internal/secrets"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// twins are two rigs on one PostgreSQL database and one platform, each with a
// connection pool and an engine of its own. Whoever is started first holds the channel.
func twins(t *testing.T) (a, b *rig) {
	t.Helper()
	address := storetest.PostgresURL(t)
	open := func() *rig {
		db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret(address)}, "", slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		r := newRig(t, db)
		r.address = address
		return r
	}
	a, b = open(), open()
	b.platform = a.platform
	return a, b
}

// startBoth starts a, which takes the channel, and then b.
func startBoth(a, b *rig) {
	a.t.Helper()
	a.start()
	a.until("the channel is held", a.connected)
	b.start()
}

// connected says that this rig's engine holds the channel and speaks with the platform.
func (r *rig) connected() bool {
	return slices.ContainsFunc(r.router.Lines.Statuses(), func(s channels.Status) bool {
		return s.Name == r.name && s.State == channels.StateConnected
	})
}

// deaf are wakes that all get lost.
func deaf(int64) core.Wakes { return lostWakes{} }

type lostWakes struct{}

func (lostWakes) Wake(core.Wake)                                {}
func (lostWakes) Listen(ctx context.Context, _ func(core.Wake)) { <-ctx.Done() }

// A wokenBy has the wakes of an engine, and counts those that it hears, by their kind.
type wokenBy struct {
	core.Wakes
	mu    sync.Mutex
	heard map[core.WakeKind]int
}

// listens has the wakes counted that this rig's engine hears; before it is started.
func (r *rig) listens() *wokenBy {
	l, wakes := &wokenBy{heard: map[core.WakeKind]int{}}, r.wakes
	r.wakes = func(owner int64) core.Wakes { l.Wakes = wakes(owner); return l }
	return l
}

// Listen implements core.Wakes.
func (l *wokenBy) Listen(ctx context.Context, onWake func(core.Wake)) {
	l.Wakes.Listen(ctx, func(w core.Wake) {
		l.mu.Lock()
		l.heard[w.Kind]++
		l.mu.Unlock()
		onWake(w)
	})
}

// begun says that it listens: whoever begins to is told to look at everything.
func (l *wokenBy) begun() bool { return l.count(core.WakeAll) > 0 }

func (l *wokenBy) count(kind core.WakeKind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[kind]
}

func TestTurnWithoutAWorkerGoesToAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.config.Workers = 1
	release := a.brain.held("long")
	defer release()
	heard := b.listens()
	a.start()
	a.until("the channel is held", a.connected)
	a.begins("c1", "ada", "long") // before another could take it
	b.start()
	b.until("it listens", heard.begun)
	for i := range 3 {
		text := fmt.Sprintf("hello %d", i)
		a.platform.Say("c2", "bob", text)
		if sent := a.await(i + 1); sent[i].Text != "re: "+text || b.brain.ran(text) != 1 {
			t.Errorf("sent %q, the other engine ran it %d times", texts(sent), b.brain.ran(text))
		}
	}
	b.until("the other engine is woken for one of them", func() bool { return heard.count(core.WakeTurn) > 0 })
	release()
	a.await(4)
}

func TestCancelFromAnotherEngineStopsTheTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wakes func(*store.DB) func(int64) core.Wakes
		heard int
	}{
		{"told", func(db *store.DB) func(int64) core.Wakes { return wakesOf(db) }, 1},
		{"the wake is lost", func(*store.DB) func(int64) core.Wakes { return deaf }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := twins(t)
			a.wakes, b.wakes = c.wakes(a.db), c.wakes(b.db)
			heard := a.listens()
			defer a.brain.held("long")()
			startBoth(a, b)
			a.until("it listens", func() bool { return c.heard == 0 || heard.begun() })
			a.begins("c1", "ada", "long")
			if err := b.router.Cancel(t.Context(), a.turns()[0].ID, people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
			if sent := a.await(1); sent[0].Text != "Cancelled." || b.brain.ran("long") != 0 {
				t.Errorf("sent %q; it ran again %d times", texts(sent), b.brain.ran("long"))
			}
			a.until("its engine is woken", func() bool { return heard.count(core.WakeStop) >= c.heard })
		})
	}
}

// The next turn of a group is for somebody whose share of workers is used up here: the
// session is given back, and another engine goes on with it.
func TestSessionWithoutAFreeWorkerIsGivenBack(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.config.Workers = 4 // one for each person
	release := a.brain.held("ada's own")
	defer release()
	goOn, inner := make(chan struct{}), a.brain.think
	a.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "bob's" {
			<-goOn
		}
		return inner(ctx, turn)
	}
	startBoth(a, b)
	group := func(n int, user, text string) {
		e := event(n, "group", user, text)
		a.accept(e)
	}
	a.begins("c1", "ada", "ada's own")
	group(1, "bob", "bob's")
	a.until("bob's runs", func() bool { return a.brain.ran("bob's") == 1 })
	group(2, "ada", "ada's in the group")
	group(3, "bob", "bob's second")
	began := time.Now()
	close(goOn)
	sent := a.await(3)
	took := time.Since(began)
	if took < 150*time.Millisecond {
		t.Errorf("the session was given back after %s", took)
	}
	if got := texts(sent); !slices.Equal(got, []string{"re: bob's", "re: ada's in the group", "re: bob's second"}) || b.brain.ran("ada's in the group") != 1 {
		t.Errorf("sent %q; the other engine ran it %d times", got, b.brain.ran("ada's in the group"))
	}
}

// A giving ledger counts the sessions that are given back.
type giving struct {
	router.Ledger
	back *atomic.Int32
}

func (g giving) GiveBack(ctx context.Context, ref core.TurnRef) error {
	g.back.Add(1)
	return g.Ledger.GiveBack(ctx, ref)
}

// Where the worker comes within the patience, the session stays.
func TestSessionIsKeptWhenAWorkerComesInTime(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.config.Workers = 4 // one for each person
		var back atomic.Int32
		r.ledger = func(of router.Ledger) router.Ledger { return giving{of, &back} }
		release := r.brain.held("ada's own")
		hold, inner := make(chan struct{}), r.brain.think
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "bob's" {
				<-hold
				time.AfterFunc(150*time.Millisecond, release)
			}
			return inner(ctx, turn)
		}
		r.start()
		r.begins("c1", "ada", "ada's own")
		for _, e := range []channels.Event{event(1, "group", "bob", "bob's"), event(2, "group", "ada", "ada's")} {
			r.accept(e)
		}
		close(hold)
		r.settled(3)
		if n := back.Load(); n != 0 {
			t.Errorf("sessions were given back %d times", n)
		}
	})
}

// A claiming ledger counts what is claimed.
type claiming struct {
	router.Ledger
	claimed *atomic.Int32
}

func (c claiming) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	list, err := c.Ledger.Claim(ctx, owner, of, except, limit)
	c.claimed.Add(int32(len(list)))
	return list, err
}

func TestEnginesClaimTheirOwnChannelsOnly(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	b.name, b.platform = "other", channelstest.NewPlatform()
	claims := claiming{claimed: new(atomic.Int32)}
	b.ledger = func(of router.Ledger) router.Ledger { claims.Ledger = of; return claims }
	var stopped atomic.Bool
	a.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "long" && !stopped.Load() {
			<-ctx.Done()
		}
		return "re: " + turn.Message.Text, nil
	}
	a.start()
	a.until("the channel is held", a.connected)
	b.start()
	a.begins("c1", "ada", "long")
	stopped.Store(true)
	a.end()
	time.Sleep(1500 * time.Millisecond) // it is free, and b was told of it and polls
	if claims.claimed.Load() != 0 {
		t.Fatal("another channel's turn was claimed")
	}
	a.start()
	if sent := a.await(1); sent[0].Text != "re: long" || b.brain.ran("long") != 0 {
		t.Errorf("sent %q", texts(sent))
	}
}

// A losing ledger loses the answer of one call of each kind, after it was committed.
type losing struct {
	router.Ledger
	mu   sync.Mutex
	lose map[string]int
	lost map[string]int
}

var errAnswerLost = errors.New("the connection was lost")

func (l *losing) gone(call string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose[call] == 0 {
		return false
	}
	l.lose[call]--
	l.lost[call]++
	return true
}

func (l *losing) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	list, err := l.Ledger.Accept(ctx, owner, entries)
	if err == nil && l.gone("accept") {
		return nil, errAnswerLost
	}
	return list, err
}

func (l *losing) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	list, err := l.Ledger.Claim(ctx, owner, of, except, limit)
	if len(list) > 0 && l.gone("claim") {
		return nil, errAnswerLost
	}
	return list, err
}

func (l *losing) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Ledger.Commit(ctx, ref, step, says)
	if err == nil && next != nil && l.gone("commit") {
		return nil, errAnswerLost
	}
	return next, err
}

func (l *losing) GiveBack(ctx context.Context, ref core.TurnRef) error {
	if l.gone("give back") {
		return errAnswerLost
	}
	return l.Ledger.GiveBack(ctx, ref)
}

// What the database committed and could not say leaves no session behind that is leased
// and that nobody runs.
func TestLostAnswersLeaveNoSessionBehind(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"accept", "claim", "commit", "give back"} {
		t.Run(lost, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.config.Workers = 4
				l := &losing{lose: map[string]int{}, lost: map[string]int{}}
				r.ledger = func(of router.Ledger) router.Ledger { l.Ledger = of; return l }
				release := r.brain.held("elsewhere")
				both, stuck := make(chan struct{}), r.brain.think
				r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
					if turn.Message.Text == "one" && (lost == "commit" || lost == "give back") {
						<-both
					}
					return stuck(ctx, turn)
				}
				r.start()
				if lost == "give back" || lost == "claim" {
					r.platform.Say("c0", "ada", "elsewhere") // ada's share
					r.until("it runs", func() bool { return r.brain.ran("elsewhere") == 1 })
				}
				l.mu.Lock()
				l.lose[lost] = 1
				l.mu.Unlock()
				want := 2
				switch lost {
				case "accept":
					r.platform.Say("c1", "ada", "one")
					r.platform.Say("c1", "ada", "two")
				case "claim":
					r.platform.Say("c1", "ada", "one") // waits for ada's worker
					r.until("it waits", func() bool { return len(r.turns()) == 2 })
					release()
				default:
					for i, user := range []string{"bob", "ada"} {
						if i == 1 {
							want++
						}
						e := event(i, "group", user, []string{"one", "two"}[i])
						r.accept(e)
					}
					close(both)
					if lost == "give back" { // which a worker would spare
						r.until("it is given back", func() bool {
							l.mu.Lock()
							defer l.mu.Unlock()
							return l.lost[lost] == 1
						})
					}
					time.AfterFunc(time.Second, release)
					want = map[bool]int{true: 2, false: 3}[lost == "commit"]
				}
				sent := r.await(want)
				for _, text := range []string{"one", "two"} {
					if n := r.brain.ran(text); n > 1 {
						t.Errorf("%q ran %d times", text, n)
					}
				}
				if l.lost[lost] != 1 {
					t.Error("no answer was lost")
				}
				if len(sent) != want {
					t.Errorf("sent %q", texts(sent))
				}
			})
		})
	}
}

// One person's turns are stuck in as many sessions as they may hold, on both engines;
// others are served.
func TestStuckPersonDelaysNoOther(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	stuck := make([]string, 40)
	for i := range stuck {
		stuck[i] = fmt.Sprint("stuck ", i)
	}
	releaseA, releaseB := a.brain.held(stuck...), b.brain.held(stuck...)
	defer releaseA()
	defer releaseB()
	startBoth(a, b)
	for i, text := range stuck {
		a.platform.Say(fmt.Sprint("s", i), "ada", text)
	}
	running := func() (n int) {
		for _, turn := range a.turns() {
			if turn.State == "running" {
				n++
			}
		}
		return n
	}
	a.until("both engines hold ada's share", func() bool { return running() == 32 })
	for i := range 20 {
		a.platform.Say(fmt.Sprint("b", i), "bob", "hello")
		a.await(i + 1) // ada's are stuck for longer than this waits
	}
	if n := running(); n != 32 {
		t.Errorf("%d of ada's turns run", n)
	}
	releaseA()
	releaseB()
	a.await(20 + len(stuck))
}

// Two engines share the work; nothing runs twice, and each conversation reads its
// answers in order.
func TestTwoEnginesShareTheWork(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.config.Workers, b.config.Workers = 8, 8
	for _, r := range []*rig{a, b} {
		r.brain.think = func(_ context.Context, turn agent.Turn) (string, error) {
			time.Sleep(20 * time.Millisecond) // the model
			return "re: " + turn.Message.Text, nil
		}
	}
	startBoth(a, b)
	const convs, each = 12, 6
	for i := range each {
		for c := range convs {
			a.platform.Say(fmt.Sprint("c", c), []string{"ada", "bob"}[c%2], fmt.Sprintf("%d.%d", c, i))
		}
	}
	a.await(convs * each)
	ran := [2]int{}
	for c := range convs {
		var want []string
		for i := range each {
			text := fmt.Sprintf("%d.%d", c, i)
			want = append(want, "re: "+text)
			if n := a.brain.ran(text) + b.brain.ran(text); n != 1 {
				t.Errorf("%s ran %d times", text, n)
			}
			ran[0] += a.brain.ran(text)
			ran[1] += b.brain.ran(text)
		}
		a.same("the conversation reads", texts(a.platform.SentIn(fmt.Sprint("c", c))), want)
	}
	if ran[0] < 10 || ran[1] < 10 {
		t.Errorf("the engines ran %v turns", ran)
	}
}
