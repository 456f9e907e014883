package store_test

import (
	"slices"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/storetest"
)

func TestEnginesAreListed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ended, dead := doomed(t, db), (*house)(nil)
		if err := ended.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = doomed(t, db)
		dead.Begun("c", "1")
		dead.Hold()
		alive := dead.died()
		alive.Begun("d", "2")
		list, err := db.Engines(t.Context())
		if err != nil || len(list) != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		for i, want := range []struct {
			id       int64
			state    string
			locked   bool
			sessions int
		}{{alive.owner(), "alive", true, 1}, {dead.owner(), "dead", false, 1}, {ended.owner(), "ended", false, 0}} {
			e := list[i]
			if e.ID != want.id || e.State != want.state || e.Locked != want.locked || e.Sessions != want.sessions || e.PID == 0 {
				t.Errorf("%d: %+v, want %+v", i, e, want)
			}
			if (db.Kind() == "postgres") != (e.Renewed >= 0) || e.Renewed > time.Minute {
				t.Errorf("renewed %s ago", e.Renewed)
			}
		}
		if !slices.Equal(list[1].Channels, []string{"tg"}) {
			t.Errorf("%+v", list)
		}
		ahead, within, err := db.ClockDifference(t.Context())
		if err != nil || ahead.Abs() > within {
			t.Errorf("the clock of this same machine differs by %s within %s, %v", ahead, within, err)
		}
	})
}

// What is known of engines that are long gone goes, with what leases say of them.
func TestEnginesLongGoneAreSwept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ended, dead := doomed(t, db), (*house)(nil)
		if err := ended.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = doomed(t, db)
		ref := dead.Begun("c", "1")
		alive := dead.died()
		count := func(want int64) {
			t.Helper()
			keep := store.Retention{Turns: time.Hour, Strangers: time.Hour, Prompts: time.Hour, Audit: time.Hour}
			if _, err := alive.engine.Sweep(t.Context(), keep); err != nil {
				t.Fatal(err)
			}
			if n, err := db.Count(t.Context(), "SELECT count(*) FROM owners"); n != want || err != nil {
				t.Errorf("%d owners, want %d, %v", n, want, err)
			}
		}
		count(3)
		db.SetNow(func() time.Time { return time.Now().Add(91 * 24 * time.Hour) })
		if db.Kind() == "postgres" {
			serverClock(t, db, 91*24*time.Hour)
			alive.renew()
		}
		count(1)
		if list := alive.Claim(1); len(list) != 1 || list[0].TurnID != ref.TurnID || list[0].Fence != ref.Fence+1 {
			t.Errorf("what the dead one left: %+v", list)
		}
	})
}
