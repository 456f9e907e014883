package engines_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func over(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), tools.ErrUnsafe)
}

func TestGuardEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	guarded, done := h.Engine.Guard(t.Context())
	defer done()
	h.Engine.Aged(8 * time.Second)
	if until := time.Until(h.Engine.SafeUntil()); until <= 0 || until > 4*time.Second {
		t.Errorf("safe for %s more", until)
	}
	time.Sleep(50 * time.Millisecond)
	if guarded.Err() != nil {
		t.Fatal("ended long before the lease")
	}
	select {
	case <-guarded.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if !over(guarded) || h.Engine.Safe() {
		t.Errorf("cause %v, safe %v", context.Cause(guarded), h.Engine.Safe())
	}
	late, stop := h.Engine.Guard(t.Context())
	defer stop()
	if !over(late) {
		t.Error("begun too late")
	}
	h.renew()
	again, stop := h.Engine.Guard(t.Context())
	defer stop()
	if again.Err() != nil || !h.Engine.Safe() {
		t.Errorf("after a renewal: %v", context.Cause(again))
	}
	// A renewal in time keeps it going.
	h.Engine.Aged(8 * time.Second)
	h.renew()
	time.Sleep(4200 * time.Millisecond)
	if again.Err() != nil {
		t.Errorf("renewed in time: %v", context.Cause(again))
	}
	ctx, cancel := context.WithCancel(t.Context())
	own, stop := h.Engine.Guard(ctx)
	cancel()
	if !errors.Is(context.Cause(own), context.Canceled) {
		t.Errorf("the caller's end: %v", context.Cause(own))
	}
	stop()
}

// A process that was stopped finds its timers late: what was begun before is over
// when anything is safe again.
func TestGuardOfAnOldRenewalIsOverFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	for _, stopped := range []struct {
		name string
		do   func()
	}{
		{"not renewed", func() { h.Engine.Aged(12 * time.Second) }},
		{"the machine slept", func() { h.Engine.Slept(time.Minute) }},
		{"the clock leapt forward", func() { h.Engine.Slept(4 * time.Second) }},
		{"the clock was set back", func() { h.Engine.Slept(-2 * time.Second) }},
		{"without the lock", func() { h.Engine.LostFor(3 * time.Second) }},
	} {
		guarded, done := h.Engine.Guard(t.Context())
		if guarded.Err() != nil {
			t.Fatalf("before %s: %v", stopped.name, context.Cause(guarded))
		}
		stopped.do()
		h.renew()
		if !h.Engine.Safe() || !over(guarded) {
			t.Errorf("%s: safe %v, and what was begun before ended by %v", stopped.name, h.Engine.Safe(), context.Cause(guarded))
		}
		done()
	}
	guarded, done := h.Engine.Guard(t.Context())
	defer done()
	if err := h.Engine.Abandon(); err != nil || !over(guarded) {
		t.Errorf("at the end: %v, %v", context.Cause(guarded), err)
	}
}

// A start that took long leaves little time to renew: what the engine begins then is not cut off.
func TestGuardOutlivesALongStart(t *testing.T) {
	t.Parallel()
	a := newHouse(t, storetest.Postgres(t))
	a.Engine.Aged(8 * time.Second)
	guarded, done := a.Engine.Guard(t.Context())
	defer done()
	running, stop := context.WithCancel(t.Context())
	var ran sync.WaitGroup
	ran.Go(func() {
		if err := a.Engine.Run(running); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(4500 * time.Millisecond) // 12.5 s after the start
	if guarded.Err() != nil || !a.Engine.Safe() {
		t.Errorf("%v, safe: %t", context.Cause(guarded), a.Engine.Safe())
	}
	stop()
	ran.Wait()
}

func TestGuardOnSQLiteHasNoEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.SQLite(t))
	guarded, done := h.Engine.Guard(t.Context())
	h.Engine.Aged(time.Hour)
	if guarded.Err() != nil || !h.Engine.SafeUntil().IsZero() {
		t.Errorf("%v, until %s", context.Cause(guarded), h.Engine.SafeUntil())
	}
	done()
	if !errors.Is(guarded.Err(), context.Canceled) {
		t.Errorf("after its end: %v", guarded.Err())
	}
}

func TestLeapIsAClockThatRanApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ran, wall time.Duration
		want      bool
	}{
		{5 * time.Second, 5 * time.Second, false},
		{5 * time.Second, 8 * time.Second, false},
		{5 * time.Second, 9 * time.Second, true},
		{5 * time.Second, 4500 * time.Millisecond, false},
		{5 * time.Second, 3 * time.Second, true},
	} {
		if got := engines.Leapt(c.ran, c.wall); got != c.want {
			t.Errorf("ran %s, wall clock %s: %v", c.ran, c.wall, got)
		}
	}
}
