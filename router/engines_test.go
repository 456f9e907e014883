package router_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestTurnWithoutAWorkerGoesToAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Config.Workers = 1
	release := a.Brain.Held("long")
	defer release()
	heard := b.Listens()
	routertest.StartBusy(a.Rig, b.Rig, "c1", "ada", "long")
	b.Until("it listens", heard.Begun)
	for i := range 3 {
		text := fmt.Sprintf("hello %d", i)
		a.Platform.Say("c2", "bob", text)
		if sent := a.Await(i + 1); sent[i].Text != "re: "+text || b.Brain.Ran(text) != 1 {
			t.Errorf("sent %q, the other engine ran it %d times", routertest.Texts(sent), b.Brain.Ran(text))
		}
	}
	b.Until("the other engine is woken for one of them", func() bool { return heard.Count(core.WakeTurn) > 0 })
	release()
	a.Await(4)
}

func TestCancelFromAnotherEngineStopsTheTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wakes func(*store.DB) func(int64) core.Wakes
		heard int
	}{
		{"told", storetest.Wakes, 1},
		{"the wake is lost", func(*store.DB) func(int64) core.Wakes { return routertest.Deaf }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := twins(t)
			a.Wakes, b.Wakes = c.wakes(a.DB), c.wakes(b.DB)
			heard := a.Listens()
			defer a.Brain.Held("long")()
			routertest.StartBusy(a.Rig, b.Rig, "c1", "ada", "long")
			a.Until("it listens", func() bool { return c.heard == 0 || heard.Begun() })
			if err := b.Router.Cancel(t.Context(), a.Turns()[0].ID, people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
			if sent := a.Await(1); sent[0].Text != "Cancelled." || b.Brain.Ran("long") != 0 {
				t.Errorf("sent %q; it ran again %d times", routertest.Texts(sent), b.Brain.Ran("long"))
			}
			a.Until("its engine is woken", func() bool { return heard.Count(core.WakeStop) >= c.heard })
		})
	}
}

// The next turn of a group is for somebody whose share of workers is used up here: the
// session is given back, and another engine goes on with it.
func TestSessionWithoutAFreeWorkerIsGivenBack(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Config.Workers = 4 // one for each person
	release := a.Brain.Held("ada's own")
	defer release()
	goOn, inner := make(chan struct{}), a.Brain.Think
	a.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "bob's" {
			<-goOn
		}
		return inner(ctx, turn)
	}
	a.Start()
	a.Until("the channel is held", a.Connected)
	a.Begins("c1", "ada", "ada's own")
	group := func(n int, user, text string) {
		e := routertest.Event(n, "group", user, text)
		a.Accept(e)
	}
	group(1, "bob", "bob's")
	a.Until("bob's runs", func() bool { return a.Brain.Ran("bob's") == 1 })
	b.Start() // now that it cannot take these
	group(2, "ada", "ada's in the group")
	group(3, "bob", "bob's second")
	began := time.Now()
	close(goOn)
	sent := a.Await(3)
	took := time.Since(began)
	if took < 150*time.Millisecond {
		t.Errorf("the session was given back after %s", took)
	}
	if got := routertest.Texts(sent); !slices.Equal(got, []string{"re: bob's", "re: ada's in the group", "re: bob's second"}) || b.Brain.Ran("ada's in the group") != 1 {
		t.Errorf("sent %q; the other engine ran it %d times", got, b.Brain.Ran("ada's in the group"))
	}
}

// A giving ledger counts the sessions that are given back.
type giving struct {
	router.Store
	back *atomic.Int32
}

func (g giving) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	g.back.Add(1)
	return g.Store.ReleaseSession(ctx, ref)
}

// Where the worker comes within the patience, the session stays.
func TestSessionIsKeptWhenAWorkerComesInTime(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 4 // one for each person
		var back atomic.Int32
		r.Store = func(of router.Store) router.Store { return giving{of, &back} }
		release := r.Brain.Held("ada's own")
		hold, inner := make(chan struct{}), r.Brain.Think
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "bob's" {
				<-hold
				time.AfterFunc(150*time.Millisecond, release)
			}
			return inner(ctx, turn)
		}
		r.Start()
		r.Begins("c1", "ada", "ada's own")
		for _, e := range []channels.Event{routertest.Event(1, "group", "bob", "bob's"), routertest.Event(2, "group", "ada", "ada's")} {
			r.Accept(e)
		}
		close(hold)
		r.Settled(3)
		if n := back.Load(); n != 0 {
			t.Errorf("sessions were given back %d times", n)
		}
	})
}

// A claiming ledger counts what is claimed.
type claiming struct {
	router.Store
	claimed *atomic.Int32
}

func (c claiming) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	list, err := c.Store.Claim(ctx, owner, of, except, limit)
	c.claimed.Add(int32(len(list)))
	return list, err
}

func TestEnginesClaimTheirOwnChannelsOnly(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	b.Name, b.Platform = "other", channelstest.NewPlatform()
	claims := claiming{claimed: new(atomic.Int32)}
	b.Store = func(of router.Store) router.Store { claims.Store = of; return claims }
	var stopped atomic.Bool
	a.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if turn.Message.Text == "long" && !stopped.Load() {
			<-ctx.Done()
		}
		return "re: " + turn.Message.Text, nil
	}
	a.Start()
	a.Until("the channel is held", a.Connected)
	b.Start()
	a.Begins("c1", "ada", "long")
	stopped.Store(true)
	a.End()
	time.Sleep(1500 * time.Millisecond) // it is free, and b was told of it and polls
	if claims.claimed.Load() != 0 {
		t.Fatal("another channel's turn was claimed")
	}
	a.Start()
	if sent := a.Await(1); sent[0].Text != "re: long" || b.Brain.Ran("long") != 0 {
		t.Errorf("sent %q", routertest.Texts(sent))
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
	releaseA, releaseB := a.Brain.Held(stuck...), b.Brain.Held(stuck...)
	defer releaseA()
	defer releaseB()
	routertest.StartBoth(a.Rig, b.Rig)
	for i, text := range stuck {
		a.Platform.Say(fmt.Sprint("s", i), "ada", text)
	}
	running := func() (n int) {
		for _, turn := range a.Turns() {
			if turn.State == "running" {
				n++
			}
		}
		return n
	}
	a.Until("both engines hold ada's share", func() bool { return running() == 32 })
	for i := range 20 {
		a.Platform.Say(fmt.Sprint("b", i), "bob", "hello")
		a.Await(i + 1) // ada's are stuck for longer than this waits
	}
	if n := running(); n != 32 {
		t.Errorf("%d of ada's turns run", n)
	}
	releaseA()
	releaseB()
	a.Await(20 + len(stuck))
}

// Two engines share the work; nothing runs twice, and each conversation reads its
// answers in order.
func TestTwoEnginesShareTheWork(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Config.Workers, b.Config.Workers = 8, 8
	for _, r := range []*rig{a, b} {
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			time.Sleep(20 * time.Millisecond) // the model
			return "re: " + turn.Message.Text, nil
		}
	}
	heard := b.Listens()
	routertest.StartBoth(a.Rig, b.Rig)
	b.Until("it listens", heard.Begun) // or the other does it all before
	const convs, each = 12, 6
	for i := range each {
		for c := range convs {
			a.Platform.Say(fmt.Sprint("c", c), []string{"ada", "bob"}[c%2], fmt.Sprintf("%d.%d", c, i))
		}
	}
	a.Await(convs * each)
	ran := [2]int{}
	for c := range convs {
		var want []string
		for i := range each {
			text := fmt.Sprintf("%d.%d", c, i)
			want = append(want, "re: "+text)
			if n := a.Brain.Ran(text) + b.Brain.Ran(text); n != 1 {
				t.Errorf("%s ran %d times", text, n)
			}
			ran[0] += a.Brain.Ran(text)
			ran[1] += b.Brain.Ran(text)
		}
		a.Same("the conversation reads", routertest.Texts(a.Platform.SentIn(fmt.Sprint("c", c))), want)
	}
	if ran[0] < 10 || ran[1] < 10 {
		t.Errorf("the engines ran %v turns", ran)
	}
}

// Who shows how the program is at one engine learns that another did something.
func TestWhatHappensAtAnotherEngineIsTold(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	heard := b.Listens()
	routertest.StartBoth(a.Rig, b.Rig)
	b.Until("it listens", heard.Begun)
	happened, stop := b.Router.Connections.Activity.Follow()
	defer stop()
	a.Accept(routertest.Event(1, "c1", "ada", "hello"))
	a.Await(1)
	b.Until("it is told", func() bool { return heard.Count(core.WakeActive) > 0 })
	<-happened
}
