package router_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/router/ledger"
	"switchboard/testkit"
)

// reloads makes the rig note which version of the settings it goes by.
func (r *rig) reloads() *atomic.Int64 {
	var version atomic.Int64
	r.reload = func(ctx context.Context) error {
		now, err := r.db.Router().SettingsNow(ctx)
		version.Store(now.ID)
		return err
	}
	return &version
}

func (r *rig) sets(base int64, value string, within time.Duration) {
	r.t.Helper()
	err := r.router.Change(r.t.Context(), &ledger.SettingsChange{
		Kind: ledger.SetSettings, Base: base, Values: map[string]string{"a": value}, ConfirmWithin: within, Conversation: "play:c1",
	}, ledger.Hand{Person: "ada", Rule: ledger.RulePeople})
	if err != nil {
		r.t.Error(err)
	}
}

// All engines go by a version at once, by polls where the wakes are lost, and by the former one
// when its time is over; the admins read so once.
//
// promise: L.settings-versions
func TestEnginesGoByTheVersionThatCounts(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"told": 2 * time.Second, "the wakes are lost": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twins(t)
			if name != "told" {
				a.wakes, b.wakes = deaf, deaf
			}
			first, second := a.reloads(), b.reloads()
			startBoth(a, b)
			a.platform.Say("c1", "ada", "hello")
			a.await(1)
			is := func(want int64, began time.Time) {
				t.Helper()
				a.until("both go by it", func() bool { return first.Load() == want && second.Load() == want })
				testkit.Soon(t, time.Since(began), within)
			}
			b.sets(0, "1", 0)
			is(1, time.Now())
			a.sets(1, "2", within+time.Second)
			is(2, time.Now())
			is(1, time.Now().Add(within+time.Second))
			a.mentions(2, "The settings are as they were before version 2 of ada: nobody confirmed it in time. It had changed a.")
			time.Sleep(100 * time.Millisecond)
			if sent := a.platform.Sent(); len(sent) != 2 {
				t.Errorf("the admin reads %q", texts(sent))
			}
		})
	}
}

// One that lapsed while nothing ran is noted, and said, at the start.
//
// promise: L.settings-versions
func TestSettingsThatLapsedWhileNothingRan(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		version := r.reloads()
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.await(1)
		r.sets(0, "1", time.Second)
		r.until("it counts", func() bool { return version.Load() == 1 })
		r.end()
		time.Sleep(1200 * time.Millisecond)
		version.Store(-1)
		r.start()
		r.mentions(2, "before version 1 of ada")
		if got := version.Load(); got != -1 { // it began without it
			t.Errorf("it was made to go by version %d", got)
		}
	})
}
