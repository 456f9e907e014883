package turns_test

import (
	"reflect"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/storetest"
)

// What is read as a turn is claimed is what Load says of it.
func TestClaimedTurnsAreReadAlong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		same := func(how string, c *core.Claimed) {
			t.Helper()
			if c == nil {
				t.Fatalf("%s: nothing claimed", how)
			}
			want := h.Load(c.TurnRef)
			if !reflect.DeepEqual(c.Data, want) || len(want.State.Recent) == 0 {
				t.Errorf("%s, read along: %+v\nloaded:     %+v", how, c.Data, want)
			}
		}
		h.Commit(h.Begun("c", "1"), storetest.End("done", "answered"))
		storetest.Exec(t, h.DB, "INSERT INTO memories (kind, scope, text, state, taint, created_at, updated_at) VALUES ('fact', 'global', 'snow is white', 'active', 'web', 1, 1)",
			"UPDATE sessions SET private = 'on'")
		first := storetest.Claiming(storetest.Entry("c", "2", "look \"here\"\n\u2028 ☃"))
		first.Event.Message.Quote, first.Event.Message.Origin = "said before", "somebody"
		c := h.Accept(first)[0].Claimed
		same("accepted", c)
		if a := h.Accept(storetest.Claiming(storetest.Entry("c", "3", "wait")))[0]; a.Claimed != nil {
			t.Errorf("claimed beside a running turn: %+v", a.Claimed)
		}
		next := h.Commit(c.TurnRef, storetest.End("done", "answered"))
		if h.DB.Kind() == "postgres" {
			same("next", next)
		}
		h.Accept(storetest.Entry("c", "4", "wait too"))
		h.Release(next.TurnRef)
		again := h.Claim(9)
		if h.DB.Kind() == "postgres" {
			same("claimed", &again[0])
		}
		h.Commit(again[0].TurnRef, storetest.End("done", "answered"))
		with := storetest.Claiming(storetest.Entry("d", "5", "look"))
		with.Event.Message.Attachments = []channels.Attachment{{ID: "f", Kind: channels.Photo, Name: "a.png", Size: 3}}
		if c = h.Accept(with)[0].Claimed; h.DB.Kind() == "postgres" && c.Data != nil {
			t.Errorf("read along without its files: %+v", c.Data)
		}
	})
}

// A turn on which something was done is never taken for a new one.
func TestBegunTurnsAreNotReadAlong(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "{}"}}})
	h.Release(ref)
	if again := h.Claim(9); len(again) != 1 || again[0].Data != nil {
		t.Errorf("got %+v", again)
	}
}
