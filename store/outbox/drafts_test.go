package outbox_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/storetest"
)

func (h *house) draft(ref core.TurnRef, text string) (delivery int64) {
	h.Helper()
	delivery, err := h.Router.Draft(h.Ctx, ref, "m1", channels.Body{Text: text})
	if err != nil {
		h.Fatalf("draft: %v", err)
	}
	return delivery
}

// calls begins the first call about a draft.
func (h *house) calls(hold outbox.Lease, delivery int64) {
	h.Helper()
	if begun, ready, err := h.Router.BeginDraft(h.Ctx, hold, delivery, channels.Body{Text: "first"}); err != nil || !ready || begun.PlatformID != "" || begun.Nonce == "" || begun.FirstTry.IsZero() {
		h.Fatalf("begin draft: %+v, %t, %v", begun, ready, err)
	}
}

// called ends it.
func (h *house) called(hold outbox.Lease, delivery int64, id channels.MessageID) (late bool) {
	h.Helper()
	late, err := h.Router.Drafted(h.Ctx, hold, delivery, id)
	if err != nil {
		h.Fatalf("drafted: %v", err)
	}
	return late
}

func (h *house) shown(hold outbox.Lease, delivery int64, id channels.MessageID) {
	h.Helper()
	h.calls(hold, delivery)
	if h.called(hold, delivery, id) {
		h.Fatal("it is late already")
	}
}

// drafts lists the drafts of the channel by their stages.
func (h *house) drafts(want ...outbox.DraftStage) []outbox.Draft {
	h.Helper()
	list, err := h.Router.Drafts(h.Ctx, "tg")
	if err != nil {
		h.Fatal(err)
	}
	var got []outbox.DraftStage
	for _, d := range list {
		got = append(got, d.Stage)
	}
	if !reflect.DeepEqual(got, want) {
		h.Errorf("drafts are %q, want %q", got, want)
	}
	return list
}

// dropped says that the draft became nothing, and how.
func (h *house) dropped(delivery int64, outcome string) {
	h.Helper()
	list, err := h.Router.Deliveries(h.Ctx, storetest.All, "dropped", 100)
	if err != nil {
		h.Fatal(err)
	}
	for _, d := range list {
		if d.ID == delivery {
			if d.Outcome != outcome {
				h.Errorf("%+v, want %s", d, outcome)
			}
			return
		}
	}
	h.Errorf("delivery %d is not dropped", delivery)
}

func TestDraftBecomesTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		ref := h.Begun("c", "1")
		d := h.draft(ref, "working")
		if again := h.draft(ref, "another"); again != d || d == 0 {
			t.Errorf("%d, then %d", d, again)
		}
		open := h.drafts(outbox.DraftOpen)[0]
		if open.Delivery != d || open.Turn != ref.TurnID || open.Body.Text != "another" || open.ReplyTo != "m1" || open.Conversation.ID != "c" {
			t.Errorf("%+v", open)
		}
		if out := h.Begin(hold, "c"); out != nil {
			t.Errorf("a draft is sent like a part: %+v", out)
		}
		if list, err := h.Router.Open(h.Ctx, hold); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		h.shown(hold, d, "77")
		if begun, ready, err := h.Router.BeginDraft(h.Ctx, hold, d, channels.Body{}); begun.PlatformID != "77" || !ready || err != nil {
			t.Errorf("begun again: %+v, %t, %v", begun, ready, err)
		}
		// It blocks nothing.
		h.Posts("c", "2", "help")
		out := h.Begin(hold, "c")
		if out == nil || out.Body.Text != "help" || out.PlatformID != "" {
			t.Fatalf("%+v", out)
		}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent})
		if got := h.Load(ref).Draft; got != d {
			t.Errorf("%d", got)
		}

		step, reply := storetest.SaidIn("found", d, false)
		h.Commit(ref, step, reply)
		h.drafts()
		if got := h.Load(ref); got.Draft != 0 || len(got.State.Said) != 1 || got.State.Said[0].Text != "found" {
			t.Errorf("%+v", got)
		}
		if _, _, err := h.Router.BeginDraft(h.Ctx, hold, d, channels.Body{}); !errors.Is(err, core.ErrConflict) {
			t.Errorf("a message is begun as a draft: %v", err)
		}
		h.called(hold, d, "other") // of a call that nobody began
		next := h.draft(ref, "more work")
		if next == d {
			t.Error("a draft that became a message is a draft still")
		}
		out = h.Begin(hold, "c")
		if out == nil || out.ID != d || out.PlatformID != "77" || out.Body.Text != "found1" || out.Part != 0 || out.Last ||
			!reflect.DeepEqual(out.Body.Buttons, reply.Parts[0].Buttons) || string(out.Body.Rich) != `{"b":1}` {
			t.Fatalf("%+v", out)
		}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliveryPending, Unedit: true, FreeTry: true, NextAt: time.Now()})
		if out = h.Begin(hold, "c"); out == nil || out.ID != d || out.PlatformID != "" {
			t.Fatalf("after the message was gone: %+v", out)
		}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "78"})
		if out = h.Begin(hold, "c"); out == nil || out.Body.Text != "found2" || !out.Last || out.PlatformID != "" {
			t.Fatalf("%+v", out)
		}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent})

		// What nothing took is dropped with the turn's end, or with the next answer
		// taking another.
		step, reply = storetest.SaidIn("done", d, true)
		h.Commit(ref, step, reply)
		if out = h.Begin(hold, "c"); out == nil || out.PlatformID != "" || out.Body.Text != "done1" {
			t.Errorf("%+v", out)
		}
		h.dropped(next, "not_needed")
		h.drafts()
		if _, err := h.Router.Draft(h.Ctx, ref, "", channels.Body{}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("a draft of a finished turn: %v", err)
		}
		v, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || len(v.Messages) != 3 || v.Messages[1].Text != "found" || v.Messages[2].Text != "done" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// While the first call is under way, or if it broke off, a message does not take the
// draft's place. Where its ID comes to be known it is taken back; where it does not,
// the row says that it was left.
func TestDraftBegunWhenTheTurnSpeaksIsTakenBackOrLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ends bool // the turn ends without a word
		id   channels.MessageID
		late bool
		want string
	}{
		{"shown", false, "77", true, "not_needed"},
		{"shown, no word", true, "77", true, "not_needed"},
		{"surely not shown", false, "", false, "not_needed"},
		{"never known", false, "never", false, "left"},
		{"never known, no word", true, "never", false, "left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				hold := h.Hold()
				ref := h.Begun("c", "1")
				d := h.draft(ref, "working")
				h.calls(hold, d)
				if c.ends {
					h.Commit(ref, agent.Step{End: &agent.End{State: "done", Outcome: "answered"}})
				} else {
					step, reply := storetest.SaidIn("whole", d, true)
					h.Commit(ref, step, reply)
					if out := h.Begin(hold, "c"); out == nil || out.ID == d || out.PlatformID != "" || out.Body.Text != "whole1" {
						t.Errorf("%+v", out)
					}
				}
				h.dropped(d, "left")
				h.drafts(outbox.DraftUnknown)
				if c.id != "never" {
					if late := h.called(hold, d, c.id); late != c.late {
						t.Errorf("late: %t", late)
					}
				}
				h.dropped(d, c.want)
				switch {
				case c.id == "never":
					h.drafts(outbox.DraftUnknown)
					return
				case !c.late:
					h.drafts()
					return
				}
				h.drafts(outbox.DraftLeave)
				if err := h.Router.EndDraft(h.Ctx, hold, d, "taken_back"); err != nil {
					t.Error(err)
				}
				h.dropped(d, "taken_back")
				h.drafts()
				if list, err := h.Router.Undelivered(h.Ctx, 0, 10); err != nil || len(list) > 0 {
					t.Errorf("%+v is what could not be sent, %v", list, err)
				}
			})
		})
	}
}

// A draft that was begun by a holder that is gone is begun by nobody else: it may be
// shown where nobody can find it. What that holder comes to know late is true all the
// same.
func TestDraftBegunByAnotherHolderIsNotBegunAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		former := h.Hold()
		ref := h.Begun("c", "1")
		d := h.draft(ref, "working")
		h.calls(former, d)
		h.calls(former, d) // the answer to the mark was lost
		hold := h.Hold()
		if hold.Fence == former.Fence {
			t.Fatal("the hold is the same")
		}
		if _, _, err := h.Router.BeginDraft(h.Ctx, hold, d, channels.Body{}); !errors.Is(err, core.ErrConflict) {
			t.Errorf("begun by two: %v", err)
		}
		if _, _, err := h.Router.BeginDraft(h.Ctx, former, d, channels.Body{}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("begun by a former holder: %v", err)
		}
		if h.called(hold, d, "66"); h.drafts(outbox.DraftBegun)[0].PlatformID != "" {
			t.Error("the ID came from who began nothing")
		}
		found, err := h.Router.ResumeDraft(h.Ctx, hold, d)
		if err != nil || found.First.Text != "first" || found.FirstTry.IsZero() || found.Nonce == "" {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := h.Router.ResumeDraft(h.Ctx, former, d); !errors.Is(err, core.ErrFenced) {
			t.Errorf("looked into by a former holder: %v", err)
		}
		h.called(hold, d, "77")
		if begun, ready, err := h.Router.BeginDraft(h.Ctx, hold, d, channels.Body{}); begun.PlatformID != "77" || !ready || err != nil {
			t.Errorf("%+v, %t, %v", begun, ready, err)
		}
		step, reply := storetest.SaidIn("whole", d, true)
		h.Commit(ref, step, reply)
		if out := h.Begin(hold, "c"); out == nil || out.ID != d || out.PlatformID != "77" {
			t.Errorf("%+v", out)
		}
	})
}

func TestDraftIsNotBegunBeforeWhatWasSaid(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.Posts("c", "2", "help")
		d := h.draft(h.Begun("c", "1"), "working")
		if _, ready, err := h.Router.BeginDraft(h.Ctx, hold, d, channels.Body{}); ready || err != nil {
			t.Errorf("%t, %v", ready, err)
		}
		h.drafts(outbox.DraftOpen)
		h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent})
		h.calls(hold, d)
	})
}

// A part whose place may yet be overwritten is sent again, and what is shown stays in the
// ledger until it is taken back.
func TestAbandonedDraftIsSentAnew(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		ref := h.Begun("c", "1")
		d := h.draft(ref, "working")
		h.shown(hold, d, "77")
		if err := h.Router.Abandon(h.Ctx, hold, d); !errors.Is(err, core.ErrConflict) {
			t.Errorf("a draft is no part: %v", err)
		}
		step, reply := storetest.SaidIn("whole", d, true)
		h.Commit(ref, step, reply)
		out := h.Begin(hold, "c")
		if err := h.Router.Abandon(h.Ctx, hold, d); err != nil {
			t.Fatal(err)
		}
		if err := h.Router.Abandon(h.Ctx, hold, d); !errors.Is(err, core.ErrConflict) {
			t.Errorf("twice: %v", err)
		}
		left := h.drafts(outbox.DraftLeave)[0]
		if left.PlatformID != "77" || left.Delivery == d || left.Conversation.ID != "c" {
			t.Errorf("%+v", left)
		}
		h.dropped(left.Delivery, "in_doubt")
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "78"})
		if out = h.Begin(hold, "c"); out == nil || out.Body.Text != "whole2" {
			t.Errorf("%+v", out)
		}
		former := hold
		h.Hold()
		if err := h.Router.EndDraft(h.Ctx, former, left.Delivery, "taken_back"); !errors.Is(err, core.ErrFenced) {
			t.Errorf("taken back by a former holder: %v", err)
		}
		if err := h.Router.Abandon(h.Ctx, former, out.ID); !errors.Is(err, core.ErrFenced) {
			t.Errorf("abandoned by a former holder: %v", err)
		}
	})
}

func TestResumedTurnGoesOnWithItsDraft(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := &house{storetest.NewDoomed(t, db)}
		ref := h.Begun("c", "1")
		d := h.draft(ref, "working")
		h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.0"}}})
		h.shown(h.Hold(), d, "77")
		h = &house{h.Successor()}
		ref = h.Claim(1)[0].TurnRef
		if got := h.Load(ref).Draft; got != d {
			t.Fatalf("%d, want %d", got, d)
		}
		step, reply := storetest.SaidIn("whole", d, true)
		h.Commit(ref, step, reply)
		if out := h.Begin(h.Hold(), "c"); out == nil || out.PlatformID != "77" || out.Body.Text != "whole1" {
			t.Errorf("%+v", out)
		}
		if err := h.Engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestPartsKeepTheirFiles(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		files := []channels.File{{Blob: "ab", Name: "b.txt", Type: "text/plain", Size: 3}}
		step := storetest.End("done", "answered")
		step.Say = []agent.Say{{Text: "here", Position: -1}}
		h.Commit(h.Begun("c", "1"), step, outbox.Reply{Text: "here", Parts: []channels.Body{{Text: "here"}, {Files: files}}})
		h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent})
		out := h.Begin(hold, "c")
		if out == nil || !reflect.DeepEqual(out.Body.Files, files) || out.Body.Text != "" {
			t.Fatalf("%+v", out)
		}
		marked := channels.Body{Text: "(repeated)", Files: files[:0]}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliveryPending, Repeated: true, Body: &marked, NextAt: time.Now()})
		if out = h.Begin(hold, "c"); out == nil || len(out.Body.Files) != 0 || out.Body.Text != "(repeated)" {
			t.Errorf("%+v", out)
		}
	})
}

// A turn that showed a draft in its first model call lost its engine and is cancelled: the
// draft goes with it, from the platform too.
func TestCancelOfTheDeadTakesTheDraftBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := &house{storetest.NewDoomed(t, db)}
		hold := h.Hold()
		byCommand, byNumber, begun := h.Begun("c", "1"), h.Begun("d", "2"), h.Begun("e", "3")
		h.shown(hold, h.draft(byCommand, "half of an answer"), "77")
		h.shown(hold, h.draft(byNumber, "half of another"), "78")
		doubtful := h.draft(begun, "a third")
		h.calls(hold, doubtful)
		h = &house{h.Successor()}
		h.Accept(storetest.Control(storetest.Entry("c", "4", "/cancel"), intake.EffectCancel, "nothing"), storetest.Control(storetest.Entry("e", "5", "/cancel"), intake.EffectCancel, "nothing"))
		h.Cancel(byNumber.TurnID)
		for _, ref := range []core.TurnRef{byCommand, byNumber, begun} {
			h.WantState(ref.TurnID, "cancelled")
		}
		h.drafts(outbox.DraftLeave, outbox.DraftLeave, outbox.DraftUnknown)
		h.dropped(doubtful, "left")
	})
}

// A draft that nobody knows to be shown is needed no more: it is looked into, and taken back or
// forgotten.
func TestDoubtfulDraftIsTakenBackOnceFound(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, id := range []channels.MessageID{"77", ""} {
			former := h.Hold()
			ref := h.Begun("c"+storetest.NameOf(int64(i)), storetest.NameOf(int64(i)))
			d := h.draft(ref, "working")
			h.calls(former, d)
			step, reply := storetest.SaidIn("whole", d, true)
			h.Commit(ref, step, reply)
			hold := h.Hold()
			if list := h.drafts(outbox.DraftUnknown); list[0].Delivery != d {
				t.Errorf("%+v", list)
			}
			out := h.Begin(hold, channels.ConversationID("c"+storetest.NameOf(int64(i))))
			if _, err := h.Router.ResumeDraft(h.Ctx, hold, d); !errors.Is(err, core.ErrConflict) {
				t.Errorf("looked into beside a part on its way: %v", err)
			}
			h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "88"})
			if found, err := h.Router.ResumeDraft(h.Ctx, hold, d); err != nil || found.Stage != outbox.DraftUnknown || found.First.Text != "first" {
				t.Fatalf("%+v, %v", found, err)
			}
			if late := h.called(hold, d, id); late != (id != "") {
				t.Errorf("late %v", late)
			}
			if id != "" {
				h.drafts(outbox.DraftLeave)
				if err := h.Router.EndDraft(h.Ctx, hold, d, "taken_back"); err != nil {
					t.Error(err)
				}
			}
			h.drafts()
			if _, err := h.Router.ResumeDraft(h.Ctx, hold, d); !errors.Is(err, core.ErrConflict) {
				t.Errorf("doubtful still: %v", err)
			}
			h.WantCount(0, "SELECT count(*) FROM deliveries WHERE noted <> ''")
		}
	})
}
