package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func (h *house) states() (list []string) {
	h.Helper()
	ds, err := h.Router.Deliveries(h.Ctx, storetest.All, "", 100)
	if err != nil {
		h.Fatal(err)
	}
	for i := len(ds) - 1; i >= 0; i-- {
		list = append(list, fmt.Sprint(ds[i].Text, " ", ds[i].State, " ", ds[i].Outcome))
	}
	return list
}

func TestDeliveriesGoInOrder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Posts("c", "1", "a", "b")
		h.Posts("d", "2", "x")
		h.Posts("c", "3", "c")
		hold := h.Hold()
		place := channels.Conversation{Channel: "tg", ID: "d", Kind: channels.Direct, Place: "d"}
		if open, err := h.Router.Open(h.Ctx, hold); err != nil || len(open) != 2 || open[0].ID != "c" || open[1] != place {
			t.Errorf("%+v, %v", open, err)
		}
		nonces := map[string]bool{}
		for _, want := range []string{"a", "b", "c"} {
			d := h.Begin(hold, "c")
			if d == nil || d.Body.Text != want || d.State != outbox.DeliverySending || d.Tries != 1 || d.Last == (want == "a") || d.Conversation.Kind != channels.Direct || d.FirstTry.IsZero() {
				t.Fatalf("want %s, got %+v", want, d)
			}
			nonces[d.Nonce] = true
			h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent, PlatformID: channels.MessageID(want)})
			if _, err := h.Router.Settle(h.Ctx, hold, d, outbox.Settlement{State: outbox.DeliveryPending}); !errors.Is(err, core.ErrFenced) {
				t.Errorf("settled twice: %v", err)
			}
		}
		if d, due, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "c"}); d != nil || !due.IsZero() || err != nil || len(nonces) != 3 {
			t.Errorf("nothing left, yet %+v, %v, %v", d, due, err)
		}
		if d := h.Begin(hold, "d"); d == nil || d.Body.Text != "x" {
			t.Errorf("the other conversation: %+v", d)
		}
	})
}

// Settle says whether its conversation needs another look.
func TestSettleSaysWhetherThereIsMore(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Posts("c", "1", "a", "b")
		h.Posts("d", "2", "x")
		for i, c := range []struct {
			conv   channels.ConversationID
			settle outbox.Settlement
			more   bool
		}{
			{"c", outbox.Settlement{State: outbox.DeliverySent}, true},    // b
			{"c", outbox.Settlement{State: outbox.DeliveryPending}, true}, // itself
			{"c", outbox.Settlement{State: outbox.DeliveryUnknown}, true}, // itself
			{"c", outbox.Settlement{State: outbox.DeliveryUnknown, Final: true}, false},
			{"d", outbox.Settlement{State: outbox.DeliveryDropped, Conversation: true}, false},
		} {
			if more, err := h.Router.Settle(h.Ctx, hold, h.Begin(hold, c.conv), c.settle); err != nil || more != c.more {
				t.Errorf("%d: %+v: more %v, %v; want %v", i, c.settle, more, err, c.more)
			}
		}
	})
}

func TestDeliveryComesBackLater(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Posts("c", "1", "a")
		hold := h.Hold()
		d := h.Begin(hold, "c")
		at := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryPending, NextAt: at, Outcome: "rate_limited"})
		if d, due, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "c"}); d != nil || !due.Equal(at) || err != nil {
			t.Errorf("%+v, %v, %v", d, due, err)
		}
		h.Posts("e", "2", "b")
		d = h.Begin(hold, "e")
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true})
		again := h.Begin(hold, "e")
		if again.Tries != 1 || !again.FirstTry.Equal(again.LastTry) || again.Nonce != d.Nonce {
			t.Errorf("a free try counted: %+v", again)
		}
		h.Settle(hold, again, outbox.Settlement{State: outbox.DeliveryPending})
		if again = h.Begin(hold, "e"); again.Tries != 2 || again.LastTry.Equal(again.FirstTry) {
			t.Errorf("%+v", again)
		}
	})
}

func TestTakeChannelMakesSendingUnknown(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Posts("c", "1", "a", "b")
		old := h.Hold()
		d := h.Begin(old, "c")
		hold := h.Hold()
		if hold.Fence <= old.Fence {
			t.Errorf("fence %d after %d", hold.Fence, old.Fence)
		}
		if _, _, err := h.Router.Begin(h.Ctx, old, channels.Conversation{ID: "c"}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("begin under an old fence: %v", err)
		}
		if _, err := h.Router.Settle(h.Ctx, old, d, outbox.Settlement{State: outbox.DeliverySent}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("settle under an old fence: %v", err)
		}
		u := h.Begin(hold, "c")
		if u == nil || u.State != outbox.DeliveryUnknown || u.ID != d.ID || u.Tries != 1 {
			t.Fatalf("%+v", u)
		}
		if again := h.Begin(hold, "c"); again == nil || again.ID != u.ID {
			t.Errorf("an unknown head must block: %+v", again)
		}
		h.Settle(hold, u, outbox.Settlement{State: outbox.DeliveryPending, Repeated: true, Body: &channels.Body{Text: "a (repeated)"}})
		r := h.Begin(hold, "c")
		if !r.Repeated || r.Body.Text != "a (repeated)" || r.Tries != 2 || r.Nonce != d.Nonce {
			t.Errorf("%+v", r)
		}
		h.Settle(hold, r, outbox.Settlement{State: outbox.DeliveryUnknown, Final: true, Outcome: "second"})
		if next := h.Begin(hold, "c"); next == nil || next.Body.Text != "b" {
			t.Errorf("a final unknown blocks: %+v", next)
		}
		// Begun and never settled: nobody knows.
		if lost := h.Begin(hold, "c"); lost == nil || lost.State != outbox.DeliveryUnknown {
			t.Errorf("%+v", lost)
		}
		if err := h.Router.DropChannel(h.Ctx, hold); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "c"}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("begin after the channel was dropped: %v", err)
		}
	})
}

func TestDeadPartTakesItsLaterPartsAlong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Posts("c", "1", "a", "b", "c")
		h.Posts("c", "2", "d", "e")
		h.Posts("x", "3", "f")
		hold := h.Hold()
		d := h.Begin(hold, "c")
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent})
		h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliveryDead, Outcome: "refused", Detail: "no"})
		d = h.Begin(hold, "c")
		if d == nil || d.Body.Text != "d" {
			t.Fatalf("the next message must go: %+v", d)
		}
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryDropped, Outcome: "gone", Conversation: true})
		want := "[a sent  b dead refused c dead earlier_part_dead d dropped gone e dropped gone f pending ]"
		if got := fmt.Sprint(h.states()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// All connections to the server are taken by work that goes on. Results have their own.
func TestResultsNeedNoFreeConnection(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	h.Posts("c", "1", "a")
	hold := h.Hold()
	d := h.Begin(hold, "c")
	const most = 3 // of the pool
	begun, release := make(chan struct{}, most), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(release)
	for range most {
		wg.Go(func() {
			if err := storetest.WriteFunc(h.Ctx, db, false, func(exec func(string) error) error {
				err := exec("SELECT 1")
				begun <- struct{}{}
				<-release
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for range most {
		<-begun
	}
	ctx, cancel := context.WithTimeout(h.Ctx, time.Minute)
	defer cancel()
	if _, err := h.Router.Settle(ctx, hold, d, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "m1"}); err != nil {
		t.Error(err)
	}
}

// What an adapter notes is there for the next holder. It is one send's alone.
func TestNotedIsHandedBack(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Posts("c", "1", "a")
		d := h.Begin(hold, "c")
		if err := h.Router.Note(h.Ctx, hold, d, "F1 F2"); err != nil || d.Noted != "" {
			t.Fatalf("%v; %+v", err, d)
		}
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliveryPending})
		if err := h.Router.Note(h.Ctx, hold, d, "late"); !errors.Is(err, core.ErrConflict) {
			t.Errorf("noted with a send that is over: %v", err)
		}
		again := h.Begin(hold, "c")
		if again.Noted != "F1 F2" {
			t.Errorf("%+v", again)
		}
		if err := h.Router.Note(h.Ctx, hold, d, "of the first send"); !errors.Is(err, core.ErrConflict) {
			t.Errorf("noted with another send: %v", err)
		}
		next := h.Hold()
		if err := h.Router.Note(h.Ctx, hold, again, "former holder"); !errors.Is(err, core.ErrFenced) {
			t.Errorf("noted without the lease: %v", err)
		}
		if found := h.Begin(next, "c"); found.State != outbox.DeliveryUnknown || found.Noted != "F1 F2" {
			t.Errorf("%+v", found)
		}
	})
}

func TestMessageIsTakenByItsDelivery(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		ref := h.Begun("c", "0")
		h.shown(hold, h.draft(ref, "working"), "77")
		h.Posts("c", "1", "a", "b")
		a := h.Begin(hold, "c")
		h.Settle(hold, a, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "1"})
		b := h.Begin(hold, "c")
		h.Posts("d", "2", "x")
		x := h.Begin(hold, "d")
		for _, c := range []struct {
			d    *outbox.Delivery
			id   channels.MessageID
			want bool
		}{{b, "1", true}, {a, "1", false}, {x, "1", false}, {b, "2", false}, {b, "77", true}, {x, "77", false}} {
			if taken, err := h.Router.Taken(h.Ctx, c.d, c.id); err != nil || taken != c.want {
				t.Errorf("%s for %q: %v, %v", c.id, c.d.Body.Text, taken, err)
			}
		}
	})
}
