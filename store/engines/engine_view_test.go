package engines_test

import (
	"slices"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestEnginesAreListed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ended, dead := doomed(t, db), (*house)(nil)
		if err := ended.Engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = doomed(t, db)
		dead.Begun("c", "1")
		dead.Hold()
		dead.Die()
		alive := doomed(t, db)
		alive.Begun("d", "2")
		list, err := engines.List(t.Context(), db.DB)
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
		ahead, within, err := engines.ClockDifference(t.Context(), db.DB)
		if err != nil || ahead.Abs() > within {
			t.Errorf("the clock of this same machine differs by %s within %s, %v", ahead, within, err)
		}
	})
}
