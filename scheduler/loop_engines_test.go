package scheduler_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/scheduler"
	"switchboard/store/storetest"
)

// Two engines run the same jobs, and one is killed in the middle: each slot runs once.
func TestTwoSchedulersAndOneIsKilled(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	first := storetest.Opened(t, url, "", slog.New(slog.DiscardHandler))
	if err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := newRig(t, first), newRig(t, storetest.Opened(t, url, "", slog.New(slog.DiscardHandler)))
	var jobs []int64
	for range 10 {
		jobs = append(jobs, a.add(scheduler.Job{Spec: every(time.Second), Rules: scheduler.Rules{Misfire: scheduler.MisfireAll, Overlap: scheduler.OverlapQueue}}).ID)
	}
	dice := rand.New(rand.NewPCG(3, 4))
	var mu sync.Mutex
	a.after = func(scheduler.DueRun) error { // what it did is sometimes not known to it
		mu.Lock()
		defer mu.Unlock()
		if dice.IntN(3) == 0 {
			return errors.New("cut off")
		}
		return nil
	}
	ctx, end := context.WithTimeout(context.Background(), 3*time.Minute)
	defer end()
	killed, kill := context.WithCancel(ctx)
	defer kill()
	until := func(ok func() bool) {
		for !ok() && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
	var both sync.WaitGroup
	both.Go(func() { a.scheduler().Run(killed) })
	both.Go(func() { b.scheduler().Run(ctx) })
	until(func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.started) > len(jobs)
	})
	kill()
	until(func() bool {
		return !slices.ContainsFunc(jobs, func(id int64) bool { return strings.Count(states(b.history(id)), "done") < 3 })
	})
	if ctx.Err() != nil {
		t.Errorf("not done within three minutes; %d were started by one, %d by the other", len(a.started), len(b.started))
	}
	end()
	both.Wait()
	for _, id := range jobs {
		open := false
		runs := b.history(id)
		for i, run := range runs { // the last may be on their way, one after the other
			if i > 0 && run.Slot.Sub(runs[i-1].Slot) != time.Second || run.State == scheduler.RunDone && open {
				t.Errorf("job %d: %+v", id, run)
			}
			open = run.State != scheduler.RunDone
		}
	}
	for _, r := range []*rig{a, b} {
		for key, n := range r.started {
			if n > 1 || r == b && a.started[key] > 0 {
				t.Errorf("%s: %d times", key, n)
			}
		}
	}
}
