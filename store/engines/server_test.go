package engines_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// A server that is away for longer than owners live, and comes back: everybody goes
// on with what was theirs, and nobody is taken for dead.
func TestServerThatComesBackFindsNobodyDead(t *testing.T) {
	t.Parallel()
	s, dir := storetest.NewServer(t), t.TempDir()
	a := newHouse(t, opened(t, s.URL(), dir, quiet))
	b := newHouse(t, opened(t, s.URL(), dir, quiet))
	ref := a.Begun("c", "1")
	hold := a.Hold()
	a.runs()
	b.runs()
	guarded, done := a.Engine.Guard(t.Context())
	defer done()
	var stopping sync.WaitGroup
	stopping.Go(s.Stop) // which may take longer than a side effect goes on
	wait(t, "it misses its lock", func() bool { return !a.Engine.Safe() })
	if guarded.Err() != nil {
		t.Error("a side effect was ended at once")
	}
	stopping.Wait()
	wait(t, "so does the other", func() bool { return !b.Engine.Safe() })
	wait(t, "side effects are ended", func() bool { return over(guarded) })
	time.Sleep(13 * time.Second)
	s.Start()
	begun := time.Now()
	for time.Since(begun) < 8*time.Second {
		if _, ok, err := b.Router.TakeChannel(t.Context(), b.owner(), "tg"); ok {
			t.Fatalf("taken over after %s: %v", time.Since(begun), err)
		}
		if list, err := b.Router.Claim(t.Context(), b.owner(), []string{"tg"}, nil, 5); len(list) != 0 {
			t.Fatalf("taken over after %s: %+v, %v", time.Since(begun), list, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	wait(t, "both are safe again", func() bool { return a.Engine.Safe() && b.Engine.Safe() })
	a.Commit(ref, agent.Step{})
	if _, _, err := a.Router.Begin(t.Context(), hold, channels.Conversation{ID: "c"}); err != nil {
		t.Errorf("its channel: %v", err)
	}
	list, err := engines.List(t.Context(), a.DB.DB)
	if err != nil || len(list) != 2 || list[0].State != "alive" || list[1].State != "alive" {
		t.Errorf("%+v, %v", list, err)
	}
}

// An engine whose network stalls stops its side effects before another one takes
// over, and finds itself replaced when it comes back. It was late, not dead.
func TestStalledEngineIsReplaced(t *testing.T) {
	t.Parallel()
	s, dir := storetest.NewServer(t), t.TempDir()
	proxy := storetest.NewProxy(t, s.Addr())
	a := newHouse(t, opened(t, s.URLAt(proxy.Addr()), dir, quiet))
	b := newHouse(t, opened(t, s.URL(), dir, quiet))
	oldServer(t, b.DB)
	a.runs()
	b.runs()
	ref := a.Begun("c", "1")
	guarded, done := a.Engine.Guard(t.Context())
	defer done()
	begun := time.Now()
	proxy.Stall()
	var list []core.Claimed
	for len(list) == 0 {
		ended := over(guarded)
		if list = b.Claim(5); len(list) > 0 && !ended {
			t.Error("taken over while a side effect was under way")
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("nobody took over")
		}
		time.Sleep(50 * time.Millisecond)
	}
	took := time.Since(begun)
	if took < 9*time.Second || list[0].TurnID != ref.TurnID || a.Engine.Safe() {
		t.Errorf("taken over after %s: %+v, safe %v", took, list, a.Engine.Safe())
	}
	if d := b.load(list[0].TurnRef); d.Resumed != 0 {
		t.Errorf("resumed %d times from one that is late", d.Resumed)
	}
	proxy.Flow()
	wait(t, "it is back", a.Engine.Safe)
	if _, err := a.Router.Commit(t.Context(), ref, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
		t.Errorf("what was taken over: %v", err)
	}
	b.Commit(list[0].TurnRef, end("done", "answered"))
}

// A firewall that forgot the connections of an engine costs it nothing but time: new
// ones take their place before anybody finds it late.
func TestStrandedConnectionsAreReplacedInTime(t *testing.T) {
	t.Parallel()
	s, dir := storetest.NewServer(t), t.TempDir()
	proxy := storetest.NewProxy(t, s.Addr())
	a := newHouse(t, opened(t, s.URLAt(proxy.Addr()), dir, quiet))
	b := newHouse(t, opened(t, s.URL(), dir, quiet))
	oldServer(t, b.DB)
	ref := a.Begun("c", "1")
	other := listening(t, b.DB, b.owner())
	received := listening(t, a.DB, a.owner())
	a.runs()
	b.runs()
	guarded, done := a.Engine.Guard(t.Context())
	defer done()
	proxy.Strand()
	for begun := time.Now(); time.Since(begun) < 27*time.Second; time.Sleep(100 * time.Millisecond) {
		if list := b.Claim(5); len(list) > 0 {
			t.Fatalf("taken over after %s: %+v", time.Since(begun), list)
		}
	}
	if over(guarded) {
		t.Error("a side effect was ended")
	}
	wait(t, "it is safe", a.Engine.Safe)
	wait(t, "it received what it missed", func() bool { return len(received.all()) > 0 })
	other.forget()
	received.Wake(core.Wake{Kind: core.WakeStop, Turn: 1})
	wait(t, "it is received", func() bool { return len(other.all()) > 0 })
	a.Commit(ref, agent.Step{})
}
