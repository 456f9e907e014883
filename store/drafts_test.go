package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

func (h *house) draft(ref router.TurnRef, text string) *router.Draft {
	h.Helper()
	d, err := h.r.Draft(h.ctx, ref, channels.Body{Text: text})
	if err != nil {
		h.Fatalf("draft: %v", err)
	}
	return d
}

func (h *house) drafted(ref router.TurnRef, d *router.Draft) {
	h.Helper()
	if err := h.r.Drafted(h.ctx, ref, d); err != nil {
		h.Fatalf("drafted: %v", err)
	}
}

// said is a step that says one text in two parts, and ends the turn if it is so.
func said(text string, draft int64, ends bool) (agent.Step, router.Reply) {
	step := agent.Step{Say: []agent.Say{{Text: text, Position: -1}}}
	if ends {
		step.End = &agent.End{State: "done", Outcome: "answered"}
	}
	return step, router.Reply{Text: text, Draft: draft, Parts: []channels.Body{
		{Text: text + "1", Rich: []byte(`{"b":1}`), Buttons: []channels.Button{{Label: "ok", Code: "x"}}}, {Text: text + "2"},
	}}
}

// promise: L.draft-row-first
func TestDraftBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.hold()
		ref := h.begun("c", "1")
		d := h.draft(ref, "working")
		if again := h.draft(ref, "another"); *again != *d || d.Delivery == 0 || d.Text != "working" {
			t.Errorf("%+v, then %+v", d, again)
		}
		if out := h.begin(hold, "c"); out != nil {
			t.Errorf("a draft is sent like a part: %+v", out)
		}
		if list, err := h.r.Open(h.ctx, hold); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		h.drafted(ref, &router.Draft{Delivery: d.Delivery, PlatformID: "77", Text: "still working"})
		// It blocks nothing.
		h.posts("c", "2", "help")
		out := h.begin(hold, "c")
		if out == nil || out.Body.Text != "help" || out.PlatformID != "" {
			t.Fatalf("%+v", out)
		}
		h.settle(hold, out, router.Settlement{State: router.DeliverySent})
		if got := h.load(ref).Draft; got == nil || *got != (router.Draft{Delivery: d.Delivery, PlatformID: "77", Text: "still working"}) {
			t.Errorf("%+v", got)
		}

		step, reply := said("found", d.Delivery, false)
		h.commit(ref, step, reply)
		if got := h.load(ref); got.Draft != nil || len(got.State.Said) != 1 || got.State.Said[0].Text != "found" {
			t.Errorf("%+v", got)
		}
		h.drafted(ref, &router.Draft{Delivery: d.Delivery, PlatformID: "other", Text: "too late"})
		next := h.draft(ref, "more work")
		if next.Delivery == d.Delivery {
			t.Error("a draft that became a message is a draft still")
		}
		out = h.begin(hold, "c")
		if out == nil || out.ID != d.Delivery || out.PlatformID != "77" || out.Body.Text != "found1" || out.Part != 0 || out.Last ||
			!reflect.DeepEqual(out.Body.Buttons, reply.Parts[0].Buttons) || string(out.Body.Rich) != `{"b":1}` {
			t.Fatalf("%+v", out)
		}
		h.settle(hold, out, router.Settlement{State: router.DeliveryPending, Unedit: true, FreeTry: true, NextAt: time.Now()})
		if out = h.begin(hold, "c"); out == nil || out.ID != d.Delivery || out.PlatformID != "" {
			t.Fatalf("after the message was gone: %+v", out)
		}
		h.settle(hold, out, router.Settlement{State: router.DeliverySent, PlatformID: "78"})
		if out = h.begin(hold, "c"); out == nil || out.Body.Text != "found2" || !out.Last || out.PlatformID != "" {
			t.Fatalf("%+v", out)
		}
		h.settle(hold, out, router.Settlement{State: router.DeliverySent})

		// What nothing took is dropped with the turn's end, or with the next answer
		// taking another.
		step, reply = said("done", d.Delivery, true)
		h.commit(ref, step, reply)
		if out = h.begin(hold, "c"); out == nil || out.PlatformID != "" || out.Body.Text != "done1" {
			t.Errorf("%+v", out)
		}
		if n, err := db.Count(h.ctx, "SELECT count(*) FROM deliveries WHERE state = 'dropped' AND settled = TRUE AND id = "+nameOf(next.Delivery)); n != 1 || err != nil {
			t.Errorf("%d dropped, %v", n, err)
		}
		if _, err := h.r.Draft(h.ctx, ref, channels.Body{}); !errors.Is(err, router.ErrFenced) {
			t.Errorf("a draft of a finished turn: %v", err)
		}
		v, err := h.r.Turn(h.ctx, ref.TurnID, false)
		if err != nil || len(v.Messages) != 3 || v.Messages[1].Text != "found" || v.Messages[2].Text != "done" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// The draft's message was sent while its place was being taken: what took it edits
// that, and nothing is shown twice.
func TestDraftSentWhileItsPlaceIsTaken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.hold()
		ref := h.begun("c", "1")
		d := h.draft(ref, "working")
		step, reply := said("found", d.Delivery, false)
		h.commit(ref, step, reply)
		h.drafted(ref, &router.Draft{Delivery: d.Delivery, PlatformID: "77", Text: "working"})
		out := h.begin(hold, "c")
		if out == nil || out.PlatformID != "77" || out.Body.Text != "found1" {
			t.Errorf("%+v", out)
		}
		h.drafted(ref, &router.Draft{Delivery: d.Delivery, PlatformID: "99", Text: "working"})
		h.settle(hold, out, router.Settlement{State: router.DeliveryUnknown})
		if out = h.begin(hold, "c"); out == nil || out.PlatformID != "77" || out.State != router.DeliveryUnknown {
			t.Errorf("%+v", out)
		}
	})
}

// promise: L.draft-row-first
func TestResumedTurnGoesOnWithItsDraft(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := doomed(t, db)
		ref := h.begun("c", "1")
		d := h.draft(ref, "working")
		h.commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.0"}}})
		h.drafted(ref, &router.Draft{Delivery: d.Delivery, PlatformID: "77", Text: "half"})
		h = h.died()
		ref = h.claim(1)[0].TurnRef
		got := h.load(ref).Draft
		if got == nil || got.Delivery != d.Delivery || got.PlatformID != "77" || got.Text != "half" {
			t.Fatalf("%+v", got)
		}
		step, reply := said("whole", got.Delivery, true)
		h.commit(ref, step, reply)
		if out := h.begin(h.hold(), "c"); out == nil || out.PlatformID != "77" || out.Body.Text != "whole1" {
			t.Errorf("%+v", out)
		}
		if err := h.engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestPartsKeepTheirFiles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.hold()
		files := []channels.File{{Blob: "ab", Name: "b.txt", Type: "text/plain", Size: 3}}
		step := end("done", "answered")
		step.Say = []agent.Say{{Text: "here", Position: -1}}
		h.commit(h.begun("c", "1"), step, router.Reply{Text: "here", Parts: []channels.Body{{Text: "here"}, {Files: files}}})
		h.settle(hold, h.begin(hold, "c"), router.Settlement{State: router.DeliverySent})
		out := h.begin(hold, "c")
		if out == nil || !reflect.DeepEqual(out.Body.Files, files) || out.Body.Text != "" {
			t.Fatalf("%+v", out)
		}
		marked := channels.Body{Text: "(repeated)", Files: files[:0]}
		h.settle(hold, out, router.Settlement{State: router.DeliveryPending, Repeated: true, Body: &marked, NextAt: time.Now()})
		if out = h.begin(hold, "c"); out == nil || len(out.Body.Files) != 0 || out.Body.Text != "(repeated)" {
			t.Errorf("%+v", out)
		}
	})
}
