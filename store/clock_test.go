package store_test

import (
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/storetest"
)

// A clock that is set back while a part waits for its next try must not make it wait
// for as long as the clock was wrong; nor does a leap stop turns or new parts.
func TestClockSetBackAndForwardHoldsNothingUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var leap time.Duration
		db.SetNow(func() time.Time { return time.Now().Add(leap) })
		h := newHouse(t, db)
		h.Posts("c", "1", "a", "b")
		hold := h.Hold()
		again := func(in time.Duration) *outbox.Delivery {
			t.Helper()
			d := h.Begin(hold, "c")
			if d == nil {
				t.Fatal("nothing is due")
			}
			h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryPending, NextAt: time.Now().Add(leap + in)})
			return d
		}
		again(time.Minute)
		if d := h.Begin(hold, "c"); d != nil {
			t.Fatalf("begun before its time: %+v", d)
		}
		leap = -time.Second // the other engine's clock, or a small correction
		if d := h.Begin(hold, "c"); d != nil {
			t.Fatalf("begun before its time by a clock that is a little behind: %+v", d)
		}
		leap = -time.Hour
		if d := again(time.Minute); d.Body.Text != "a" {
			t.Errorf("begun %+v", d)
		}
		if d := h.Begin(hold, "c"); d != nil {
			t.Fatalf("the new wait does not count: %+v", d)
		}
		ref := h.Begun("d", "2")
		leap = time.Hour
		h.Commit(ref, agent.Step{})
		for _, want := range []string{"a", "b"} {
			d := h.Begin(hold, "c")
			if d == nil || d.Body.Text != want {
				t.Fatalf("begun %+v, want %s", d, want)
			}
			h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "1"})
		}
		h.Commit(ref, end("done", "answered"))
		if ref := h.Begun("d", "3"); ref.TurnID == 0 {
			t.Error("no turn after the leaps")
		}
	})
}
