package store_test

import (
	"errors"
	"testing"

	"switchboard/channels"
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

// What became of a send is told twice, because the first time had no answer for too
// long; the first statement arrives after all, when the part is being sent again.
//
// promise: P2.refused-retries
func TestLateSettleIsOfItsOwnTry(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		h.Posts("c", "1", "part")
		hold := h.Hold()
		first := h.Begin(hold, "c")
		limited := router.Settlement{State: router.DeliveryPending, FreeTry: true}
		h.Settle(hold, first, limited) // the second statement, on a new connection
		again := h.Begin(hold, "c")    // and the platform takes it now
		if _, err := h.r.Settle(h.ctx, hold, first, limited); !errors.Is(err, router.ErrFenced) {
			t.Errorf("the first statement, late: %v", err)
		}
		h.Settle(hold, again, router.Settlement{State: router.DeliverySent, PlatformID: "x"})
		if d := h.Begin(hold, "c"); d != nil {
			t.Errorf("what was sent is open: %+v", d)
		}
	})
}

// A settlement whose answer was lost is told again, and was done.
//
// promise: L.lost-answer
func TestSettleTwice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.Hold()
		for i, s := range []router.Settlement{
			{State: router.DeliverySent, PlatformID: "x"},
			{State: router.DeliveryPending, FreeTry: true},
			{State: router.DeliveryUnknown},
			{State: router.DeliveryUnknown, Final: true},
			{State: router.DeliveryDead, Outcome: "refused"},
			{State: router.DeliveryDropped, Conversation: true},
		} {
			conv := string(rune('a' + i))
			h.Posts(conv, conv, "one", "two")
			d := h.Begin(hold, channels.ConversationID(conv))
			first, err := h.r.Settle(h.ctx, hold, d, s)
			if err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			if again, err := h.r.Settle(h.ctx, hold, d, s); err != nil || again != first {
				t.Errorf("%+v told again: more %v, %v, and at first %v", s, again, err, first)
			}
		}
	})
}
