package store_test

import (
	"reflect"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// opens commits an answer that is to begin at once, and returns what was begun.
func (h *house) opens(ref core.TurnRef, hold outbox.Lease, conv channels.ConversationID, draft int64) *outbox.Delivery {
	h.Helper()
	step, reply := said("found", draft, true)
	reply.Open = &outbox.Opening{Lease: hold, Conversation: channels.Conversation{ID: conv}}
	h.Commit(ref, step, reply)
	return reply.Open.Begun
}

// begunAs checks that d is what Begin would have returned of a fresh part: the row is
// taken back, and begun once more, which is returned.
func (h *house) begunAs(hold outbox.Lease, d *outbox.Delivery) *outbox.Delivery {
	h.Helper()
	h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true})
	again := h.Begin(hold, d.Conversation.ID)
	begun := *again
	again.FirstTry, again.LastTry = d.FirstTry, d.LastTry
	if !reflect.DeepEqual(d, again) || d.FirstTry.IsZero() || d.Tries != 1 {
		h.Errorf("begun with the commit: %+v\nbegun after it:        %+v", d, again)
	}
	return &begun
}

func TestCommitBeginsWhatItStores(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		d := h.opens(h.Begun("c", "1"), hold, "c", 0)
		if d == nil || d.State != outbox.DeliverySending || d.Body.Text != "found1" || len(d.Body.Buttons) != 1 || d.Last {
			t.Fatalf("%+v", d)
		}
		d = h.begunAs(hold, d)
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent})
		if d = h.Begin(hold, "c"); d == nil || d.Body.Text != "found2" || d.Tries != 1 {
			t.Errorf("the second part: %+v", d)
		}
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent})

		ref := h.Begun("c", "2")
		draft := h.draft(ref, "working")
		h.shown(hold, draft, "77")
		d = h.opens(ref, hold, "c", draft)
		if d == nil || d.ID != draft || d.PlatformID != "77" || d.Body.Text != "found1" {
			t.Fatalf("in a draft's place: %+v", d)
		}
		h.begunAs(hold, d)
	})
}

// Begun with the commit and nothing more: whoever looks next finds that nobody knows
// whether it was sent.
func TestBegunByTheLastCommitOfADeadEngineIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		d := h.opens(h.Begun("c", "1"), hold, "c", 0)
		if d == nil {
			t.Fatal("not begun")
		}
		hold = h.Hold()
		if u := h.Begin(hold, "c"); u == nil || u.ID != d.ID || u.State != outbox.DeliveryUnknown || u.Tries != 1 {
			t.Errorf("%+v", u)
		}
	})
}

func TestCommitBeginsNothingOutOfTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		old := h.Hold()
		hold := h.Hold()
		pending := func(what, conv, key string, hold outbox.Lease) {
			t.Helper()
			ref := h.Begun(conv, key)
			if d := h.opens(ref, hold, channels.ConversationID(conv), 0); d != nil {
				t.Errorf("%s: begun %+v", what, d)
			}
		}
		pending("under a lease that was lost", "a", "1", old)
		if d := h.Begin(hold, "a"); d == nil || d.Body.Text != "found1" || d.State != outbox.DeliverySending || d.Tries != 1 {
			t.Errorf("it must wait like any other: %+v", d)
		}
		pending("behind one on its way", "a", "2", hold)
		h.Posts("b", "3", "help")
		pending("behind one that waits", "b", "4", hold)
		if d := h.Begin(hold, "b"); d == nil || d.Body.Text != "help" || d.State != outbox.DeliverySending {
			t.Errorf("%+v", d)
		}
		ref := h.Begun("x", "5")
		if d := h.opens(ref, hold, "y", 0); d != nil {
			t.Errorf("for another conversation: %+v", d)
		}
	})
}
