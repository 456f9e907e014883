package store_test

import (
	"context"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/store"
	"switchboard/store/storetest"
)

// What is known of engines that are long gone goes, with what leases say of them.
func TestEnginesLongGoneAreSwept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ended, dead := &house{storetest.NewDoomed(t, db)}, (*house)(nil)
		if err := ended.Engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = &house{storetest.NewDoomed(t, db)}
		ref := dead.Begun("c", "1")
		alive := &house{dead.Successor()}
		count := func(want int64) {
			t.Helper()
			keep := store.Retention{Turns: time.Hour, Strangers: time.Hour, Prompts: time.Hour, Audit: time.Hour}
			if _, err := alive.DB.Retain(t.Context(), alive.Owner(), keep); err != nil {
				t.Fatal(err)
			}
			if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM owners"); n != want || err != nil {
				t.Errorf("%d owners, want %d, %v", n, want, err)
			}
		}
		count(3)
		db.Now = func() time.Time { return time.Now().Add(91 * 24 * time.Hour) }
		if db.Kind() == "postgres" {
			storetest.ServerClock(t, db, 91*24*time.Hour)
			alive.Renew()
		}
		count(1)
		if list := alive.Claim(1); len(list) != 1 || list[0].TurnID != ref.TurnID || list[0].Fence != ref.Fence+1 {
			t.Errorf("what the dead one left: %+v", list)
		}
	})
}

func TestSweepKeepsKeysLongerThanBodies(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	h := newHouse(t, db)
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "open", Answer: "a"}}})
	done := h.Begun("d", "2")
	step := storetest.End("done", "answered")
	step.Calls = []agent.Call{{Step: "closed", Answer: "b"}}
	h.Commit(done, step)
	db.Now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	week := store.Retention{Turns: 100 * 24 * time.Hour, Strangers: time.Hour, Prompts: 7 * 24 * time.Hour, Audit: time.Hour}
	if _, err := h.DB.Retain(t.Context(), h.Owner(), week); err != nil {
		t.Fatal(err)
	}
	if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM llm_bodies"); n != 1 || err != nil {
		t.Errorf("%d bodies after 8 days, %v", n, err)
	}
	if a := h.Accept(storetest.Entry("c", "1", "again"))[0]; !a.Duplicate {
		t.Errorf("key forgotten after 8 days: %+v", a)
	}
	db.Now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
	again := storetest.Entry("c", "1", "again")
	if a := h.Accept(again)[0]; !a.Duplicate {
		t.Errorf("the message is there still, by the platform's ID: %+v", a)
	}
	db.Now = func() time.Time { return time.Now().Add(62 * 24 * time.Hour) }
	again.Event.Message.ID = ""
	if a := h.Accept(again)[0]; a.Duplicate {
		t.Errorf("key kept for 31 days: %+v", a)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.Engine.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
}
