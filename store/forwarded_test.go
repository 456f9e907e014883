package store_test

import (
	"testing"

	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

func passedOn(e router.Entry, from string) router.Entry {
	e.Taint, e.Event.Message.Forwarded, e.Event.Message.Origin = "forwarded", true, from
	return e
}

// Who wrote a forwarded message stays with it on every way to a turn.
func TestForwardedFromIsKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		ref := h.one(claiming(passedOn(entry("c", "1", "one"), "Eve"))).Claimed.TurnRef
		if m := h.load(ref).Turn.Message; m.ForwardedFrom != "Eve" || m.Taint != "forwarded" {
			t.Errorf("%+v", m)
		}
		h.one(mode(passedOn(entry("c", "2", "two"), "Mallory"), "steer"))
		if list := h.absorb(ref, 1); len(list) != 1 || list[0].ForwardedFrom != "Mallory" {
			t.Errorf("absorbed: %+v", list)
		}
		if added := h.load(ref).State.Added; len(added) != 1 || added[0].ForwardedFrom != "Mallory" {
			t.Errorf("resumed: %+v", added)
		}
		h.commit(ref, end("done", "answered"))

		h.accept(entry("c", "3", "three"), mode(passedOn(entry("c", "4", "four"), "Trent"), "collect"), mode(entry("c", "5", "five"), "collect"))
		h.one(passedOn(edited("c", "5", "e1", "five!", "steer"), "Peggy"))
		d := h.load(h.claim(1)[0].TurnRef)
		if d.Turn.Message.ForwardedFrom != "Trent, Peggy" || d.Turn.Message.Text != "three\n\nfour\n\nfive!" {
			t.Errorf("collected: %+v", d.Turn.Message)
		}
		if recent := d.State.Recent; len(recent) != 2 || recent[0].ForwardedFrom != "Eve" || recent[1].ForwardedFrom != "Mallory" {
			t.Errorf("recent: %+v", recent)
		}
		h.accept(deleted("c", "1", "d1"), deleted("c", "4", "d2"))
		if n, err := db.Count(h.ctx, "SELECT count(*) FROM messages WHERE forwarded_from IN ('Eve', 'Trent')"); n != 0 || err != nil {
			t.Errorf("%d labels are left, %v", n, err)
		}
	})
}
