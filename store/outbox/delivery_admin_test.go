package outbox_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/storetest"
)

var byOwner = people.LocalActor("owner")

// mend retries or drops a delivery by hand.
func (h *house) mend(kind outbox.ChangeKind, id int64) (*outbox.Changed, error) {
	c := &outbox.Change{ID: id, Kind: kind}
	err := h.Router.Change(h.Ctx, c, byOwner)
	return c.Done, err
}

func TestRetryOfADeadPartSendsWhatDiedWithItInOrder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		turn := h.Says("1", "a", "b", "c")
		h.SettleNext(hold, storetest.Sent)
		first := h.SettleNext(hold, storetest.Dead)
		h.Says("2", "later")
		if got := h.Parts(); !slices.Equal(got, []string{"sent ", "dead refused", "dead earlier_part_dead", "pending "}) {
			t.Fatalf("before: %q", got)
		}
		m, err := h.mend(outbox.RetryDelivery, first.ID+1) // the one that died with it stands for both
		if err != nil || m.With != 1 || m.Was != outbox.DeliveryDead || m.State != outbox.DeliveryPending || m.Conversation != "c1" {
			t.Fatalf("%+v, %v", m, err)
		}
		if got := h.Parts(); !slices.Equal(got, []string{"sent ", "pending by_hand", "pending by_hand", "pending "}) {
			t.Errorf("after: %q", got)
		}
		var order []string
		for range 3 {
			order = append(order, h.SettleNext(hold, storetest.Sent).Body.Text)
		}
		if !slices.Equal(order, []string{"b", "c", "later"}) {
			t.Errorf("sent in the order %q", order)
		}
		e, err := h.Router.Turn(h.Ctx, turn, false)
		if err != nil || len(e.Audit) != 1 || e.Audit[0].Action != "delivery.retry" || e.Audit[0].Person != "owner" ||
			e.Audit[0].Rule != "machine" || e.Audit[0].Outcome != "pending" || e.Audit[0].Target != "delivery "+storetest.NameOf(first.ID+1) {
			t.Errorf("audit: %+v, %v", e.Audit, err)
		}
		// What a client saw die, it sees live again.
		if got := h.deliveryEvents("c1"); !slices.Equal(got, []string{"dead refused", "pending by_hand", "sent", "sent"}) {
			t.Errorf("events: %q", got)
		}
	})
}

// deliveryEvents are the session's events about deliveries.
func (h *house) deliveryEvents(conv string) (list []string) {
	h.Helper()
	events, err := h.Router.Events(h.Ctx, "tg:"+conv, 0, 1000)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range events {
		if e.Kind != "delivery" {
			continue
		}
		var d struct{ State, Outcome string }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			h.Fatal(err)
		}
		list = append(list, strings.TrimSpace(d.State+" "+d.Outcome))
	}
	return list
}

func TestRetryOfAnUnknownPartAsksAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Says("1", "a")
		d := h.SettleNext(hold, storetest.Uncertain)
		if _, err := h.mend(outbox.RetryDelivery, d.ID); !isState(err) {
			t.Errorf("while it is being found out: %v", err)
		}
		h.SettleNext(hold, storetest.Lost)
		m, err := h.mend(outbox.RetryDelivery, d.ID)
		if err != nil || m.State != outbox.DeliveryUnknown {
			t.Fatalf("%+v, %v", m, err)
		}
		asked := h.Begin(hold, "c1")
		if asked == nil || asked.State != outbox.DeliveryUnknown || asked.Repeated {
			t.Fatalf("it is not asked about again: %+v", asked)
		}
		// With nobody to ask it is sent once more, marked, and marked once only.
		h.Settle(hold, asked, storetest.Repeat)
		h.SettleNext(hold, storetest.Lost)
		if m, err = h.mend(outbox.RetryDelivery, d.ID); err != nil || m.State != outbox.DeliveryPending {
			t.Fatalf("%+v, %v", m, err)
		}
		again := h.SettleNext(hold, storetest.Sent)
		if again.Body.Text != "(repeated) a" || !again.Repeated || again.Tries != 3 {
			t.Errorf("sent: %+v", again)
		}
	})
}

func TestDropByHandTakesWhatIsNotSent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Says("1", "a", "b")
		h.Says("2", "c")
		ids := func(text string) int64 {
			list, _ := h.Router.Deliveries(h.Ctx, storetest.All, "", 100)
			for _, d := range list {
				if d.Text == text {
					return d.ID
				}
			}
			return 0
		}
		drop := func(text string, want bool) {
			t.Helper()
			m, err := h.mend(outbox.DropDelivery, ids(text))
			if want && (err != nil || m.State != outbox.DeliveryDropped) || !want && !isState(err) {
				t.Errorf("drop %s: %+v, %v", text, m, err)
			}
		}
		sending := h.Begin(hold, "c1")
		drop("a", false)
		h.Settle(hold, sending, storetest.Sent)
		drop("a", false)
		drop("b", true)
		drop("b", false)
		if d := h.SettleNext(hold, storetest.Dead); d.Body.Text != "c" {
			t.Errorf("after the head was dropped, %q is sent", d.Body.Text)
		}
		drop("c", true)
		if _, err := h.mend(outbox.RetryDelivery, ids("c")); !isState(err) {
			t.Errorf("retry of what was given up: %v", err)
		}
		for _, mend := range []func() error{
			func() error { _, err := h.mend(outbox.RetryDelivery, 9999); return err },
			func() error { _, err := h.mend(outbox.DropDelivery, 9999); return err },
		} {
			if err := mend(); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("one that is not there: %v", err)
			}
		}
	})
}

func isState(err error) bool {
	_, ok := errors.AsType[*core.StateError](err)
	return ok
}

// A first try that is sent costs no event; what went another way has one.
func TestFirstTryThatIsSentHasNoEvent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Says("1", "a", "b", "c")
		h.SettleNext(hold, storetest.Sent)
		h.SettleNext(hold, storetest.Uncertain)
		h.SettleNext(hold, outbox.Settlement{State: outbox.DeliverySent, Outcome: "found"})
		h.SettleNext(hold, outbox.Settlement{State: outbox.DeliveryDropped, Outcome: "gone", Conversation: true})
		if got := h.deliveryEvents("c1"); !slices.Equal(got, []string{"unknown no_answer", "sent found", "dropped gone"}) {
			t.Errorf("events: %q", got)
		}
	})
}
