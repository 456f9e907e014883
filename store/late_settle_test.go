package store_test

import (
	"errors"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// What became of a send is told twice, because the first time had no answer for too
// long; the first statement arrives after all, when the part is being sent again.
func TestLateSettleIsOfItsOwnTry(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Posts("c", "1", "part")
		hold := h.Hold()
		first := h.Begin(hold, "c")
		limited := outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true}
		h.Settle(hold, first, limited) // the second statement, on a new connection
		again := h.Begin(hold, "c")    // and the platform takes it now
		if _, err := h.Router.Settle(h.Ctx, hold, first, limited); !errors.Is(err, core.ErrFenced) {
			t.Errorf("the first statement, late: %v", err)
		}
		h.Settle(hold, again, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "x"})
		if d := h.Begin(hold, "c"); d != nil {
			t.Errorf("what was sent is open: %+v", d)
		}
	})
}

// A settlement whose answer was lost is told again, and was done.
func TestSecondSettleChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		for i, s := range []outbox.Settlement{
			{State: outbox.DeliverySent, PlatformID: "x"},
			{State: outbox.DeliveryPending, FreeTry: true},
			{State: outbox.DeliveryUnknown},
			{State: outbox.DeliveryUnknown, Final: true},
			{State: outbox.DeliveryDead, Outcome: "refused"},
			{State: outbox.DeliveryDropped, Conversation: true},
		} {
			conv := string(rune('a' + i))
			h.Posts(conv, conv, "one", "two")
			d := h.Begin(hold, channels.ConversationID(conv))
			first, err := h.Router.Settle(h.Ctx, hold, d, s)
			if err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			if again, err := h.Router.Settle(h.Ctx, hold, d, s); err != nil || again != first {
				t.Errorf("%+v told again: more %v, %v, and at first %v", s, again, err, first)
			}
		}
	})
}
