package turns_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store"
	"switchboard/store/storetest"
)

func (h *house) absorb(ref core.TurnRef, from int) []agent.Incoming {
	h.Helper()
	list, err := h.Router.Absorb(h.Ctx, ref, from)
	if err != nil {
		h.Fatalf("absorb: %v", err)
	}
	return list
}

func texts(list []agent.Incoming) string {
	var all []string
	for _, m := range list {
		all = append(all, m.Text)
	}
	return strings.Join(all, "|")
}

func TestSteeringMessagesAreAbsorbed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		if list := h.absorb(ref, 0); list != nil {
			t.Errorf("absorbed %+v", list)
		}
		ordinary := h.One(storetest.Mode(storetest.Entry("c", "2", "ordinary"), "queue"))
		others := h.One(storetest.Mode(storetest.By(storetest.Entry("c", "3", "anna's"), "anna"), "steer"))
		photo := storetest.Mode(storetest.Entry("c", "4", "look"), "steer")
		photo.Taint, photo.Event.Message.Attachments = "file", []channels.Attachment{{ID: "p1", Kind: channels.Photo, Name: "a.png", Type: "image/png", Size: 7}}
		first, second := h.One(photo), h.One(storetest.Mode(storetest.Entry("c", "5", "and this"), "steer"))
		if first.Steers != ref.TurnID || second.Steers != ref.TurnID || others.Steers != 0 || ordinary.Steers != 0 || first.TurnID == 0 || first.Merged {
			t.Errorf("%+v %+v %+v %+v", first, second, others, ordinary)
		}
		list := h.absorb(ref, 2)
		if texts(list) != "look|and this" || list[0].Taint != "file" || len(list[0].Attachments) != 1 || list[0].ID != first.MessageID {
			t.Fatalf("%+v", list)
		}
		if a := list[0].Attachments[0]; a.Kind != "photo" || a.Name != "a.png" || a.Type != "image/png" || a.Size != 7 || a.ID == "" || a.ID == "p1" {
			t.Errorf("%+v", a)
		}
		h.WantState(first.TurnID, "merged")
		h.WantState(second.TurnID, "merged")
		h.WantState(ordinary.TurnID, "queued")
		h.WantState(others.TurnID, "queued")
		if again := h.absorb(ref, 3); again != nil {
			t.Errorf("absorbed again: %+v", again)
		}
		third := h.One(storetest.Mode(storetest.Entry("c", "6", "late"), "steer"))
		h.absorb(ref, 3)
		d := h.Load(ref)
		if len(d.State.Added) != 3 || d.State.Added[0].Text != "look" || d.State.Added[0].From != 2 || d.State.Added[2].From != 3 ||
			d.State.Added[2].ID != third.MessageID || d.Turn.Message.Text != "hello 1" || len(d.State.Added[0].Attachments) != 1 {
			t.Errorf("%+v", d.State.Added)
		}
		// What the turn's rows hold, its redaction reaches.
		h.Commit(ref, agent.Step{Redact: []string{"and this"}})
		v, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || len(v.Messages) != 4 || v.Messages[2].Text != "[redacted]" {
			t.Fatalf("%+v, %v", v, err)
		}
		// Which message was which turn's is shown on both sides.
		for i, turn := range []int64{ref.TurnID, first.TurnID, second.TurnID, third.TurnID} {
			if v.Messages[i].Turn != turn {
				t.Errorf("message %d is of turn %d, want %d", i, v.Messages[i].Turn, turn)
			}
		}
		if v.MergedInto != 0 {
			t.Errorf("%+v", v)
		}
		if v, err := h.Router.Turn(h.Ctx, first.TurnID, false); err != nil || v.MergedInto != ref.TurnID || v.Text != "look" {
			t.Errorf("%+v, %v", v, err)
		}
		merged, err := h.Router.Turns(h.Ctx, storetest.All, "merged", 10)
		if err != nil || len(merged) != 3 || merged[0].MergedInto != ref.TurnID {
			t.Errorf("%+v, %v", merged, err)
		}
		next := h.Commit(ref, storetest.End("done", "answered"))
		if next == nil || next.TurnID != ordinary.TurnID {
			t.Errorf("next %+v", next)
		}
	})
}

func TestOldFenceAbsorbsAndDraftsNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		a := h.One(storetest.Mode(storetest.Entry("c", "2", "x"), "steer"))
		h.Release(ref)
		for range 2 {
			if _, err := h.Router.Absorb(h.Ctx, ref, 0); !errors.Is(err, core.ErrFenced) {
				t.Errorf("absorb: %v", err)
			}
			if _, err := h.Router.Draft(h.Ctx, ref, "", channels.Body{Text: "x"}); !errors.Is(err, core.ErrFenced) {
				t.Errorf("draft: %v", err)
			}
			h.WantState(a.TurnID, "queued")
			h.Claim(1)
		}
	})
}

// A message that steers comes while the turn ends: it is absorbed or runs by
// itself, and never both nor neither.
func TestSteeringAtTheEndIsNeverLost(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 12 {
			conv := fmt.Sprint("c", i)
			ref := h.Begun(conv, conv+"first")
			var a []intake.Accepted
			var absorbed []agent.Incoming
			var next *core.Claimed
			var wg sync.WaitGroup
			wg.Go(func() {
				var err error
				if a, err = h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Mode(storetest.Claiming(storetest.Entry(conv, conv+"second", "too")), "steer")}); err != nil {
					t.Errorf("accept: %v", err)
				}
			})
			wg.Go(func() {
				var err error
				if absorbed, err = h.Router.Absorb(h.Ctx, ref, 1); err != nil {
					t.Errorf("absorb: %v", err)
				}
				if next, err = h.Router.Commit(h.Ctx, ref, storetest.End("done", "answered"), nil); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
			wg.Wait()
			if t.Failed() {
				return
			}
			ways := 0
			if len(absorbed) == 1 {
				ways++
				h.WantState(a[0].TurnID, "merged")
			}
			if next != nil {
				ways++
			}
			if a[0].Claimed != nil {
				ways++
			}
			if ways != 1 {
				t.Errorf("taken %d times: absorbed %+v, next %+v, accepted %+v", ways, absorbed, next, a[0])
			}
		}
	})
}

func TestInterruptAsksTheRunningTurnToStop(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		if a := h.One(storetest.Mode(storetest.By(storetest.Entry("c", "2", "anna's"), "anna"), "interrupt")); a.CancelTurn != 0 {
			t.Errorf("another person's turn was interrupted: %+v", a)
		}
		if d := h.Load(ref); d.CancelRequested != core.StopNone {
			t.Error("asked to stop")
		}
		a := h.One(storetest.Mode(storetest.Entry("c", "3", "stop"), "interrupt"))
		if a.CancelTurn != ref.TurnID || a.TurnID == 0 || a.Steers != 0 {
			t.Errorf("%+v", a)
		}
		if d := h.Load(ref); d.CancelRequested != core.StopInterrupted {
			t.Errorf("asked to stop: %q", d.CancelRequested)
		}
		// Why is what was asked first, whatever is asked besides.
		if a := h.One(storetest.Control(storetest.Entry("c", "4", "/cancel"), intake.EffectCancel, "nothing")); a.CancelTurn != ref.TurnID {
			t.Errorf("%+v", a)
		}
		if d := h.Load(ref); d.CancelRequested != core.StopInterrupted {
			t.Errorf("asked to stop: %q", d.CancelRequested)
		}
		h.WantState(a.TurnID, "queued")
	})
}

func TestCollectedMessagesAreOneTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		now := time.Now().Truncate(time.Microsecond)
		h.DB.Now = func() time.Time { return now }
		collect := func(e intake.Entry) intake.Entry {
			e.Turn().Mode, e.Turn().CollectWindow, e.Turn().MayClaim = "collect", 2*time.Second, true
			return e
		}
		first := h.One(collect(storetest.Entry("c", "1", "one")))
		if first.Claimed != nil || first.Waiting || first.Merged || !first.NotBefore.Equal(now.Add(2*time.Second)) {
			t.Errorf("%+v", first)
		}
		now = now.Add(1500 * time.Millisecond)
		two := collect(storetest.Entry("c", "2", "two"))
		two.Taint, two.Event.Message.Attachments = "file", []channels.Attachment{{ID: "f", Kind: channels.Document, Name: "b.txt"}}
		second := h.One(two)
		if !second.Merged || second.TurnID != first.TurnID || second.MessageID == first.MessageID || !second.NotBefore.Equal(now.Add(2*time.Second)) {
			t.Errorf("%+v", second)
		}
		if a := h.One(two); !a.Duplicate {
			t.Errorf("told again: %+v", a)
		}
		anna := h.One(storetest.By(collect(storetest.Entry("c", "3", "anna's")), "anna"))
		third := h.One(collect(storetest.Entry("c", "4", "not the newest any more")))
		if anna.Merged || third.Merged || third.TurnID == first.TurnID {
			t.Errorf("%+v %+v", anna, third)
		}
		now = now.Add(1999 * time.Millisecond)
		if list := h.Claim(9); len(list) != 0 {
			t.Errorf("claimed before its time: %+v", list)
		}
		if a := h.One(storetest.By(storetest.Claiming(storetest.Entry("c", "5", "another")), "otto")); a.Claimed != nil {
			t.Errorf("claimed before its time: %+v", a)
		}
		now = now.Add(time.Millisecond)
		list := h.Claim(9)
		if len(list) != 1 || list[0].TurnID != first.TurnID {
			t.Fatalf("%+v", list)
		}
		d := h.Load(list[0].TurnRef)
		m := d.Turn.Message
		if m.Text != "one\n\ntwo" || m.ID != first.MessageID || m.Taint != "file" || len(m.Attachments) != 1 || m.Attachments[0].Name != "b.txt" ||
			d.ReplyTo != "m2" || len(d.State.Added) != 0 {
			t.Errorf("%+v, reply to %s, added %+v", m, d.ReplyTo, d.State.Added)
		}
		if a := h.One(collect(storetest.Entry("c", "6", "while it runs"))); a.TurnID == first.TurnID {
			t.Errorf("collected into a running turn: %+v", a)
		}
		// The next one waits as well: the lease is given up meanwhile.
		if next := h.Commit(list[0].TurnRef, storetest.End("done", "answered")); next == nil || next.TurnID != anna.TurnID {
			t.Errorf("next %+v", next)
		}
	})
}

func TestAWaitingHeadLetsTheLeaseGo(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		e := storetest.Mode(storetest.Entry("c", "2", "later"), "collect")
		e.Turn().CollectWindow = time.Hour
		a := h.One(e)
		if next := h.Commit(ref, storetest.End("done", "answered")); next != nil {
			t.Errorf("next %+v", next)
		}
		if list := h.Claim(9); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		h.DB.Now = func() time.Time { return time.Now().Add(time.Hour + time.Second) }
		if list := h.Claim(9); len(list) != 1 || list[0].TurnID != a.TurnID {
			t.Errorf("claimed %+v", list)
		}
		none := storetest.Mode(storetest.Entry("d", "3", "no window"), "collect")
		none.Turn().MayClaim = true
		if a := h.One(none); a.Claimed == nil || !a.NotBefore.IsZero() {
			t.Errorf("%+v", a)
		}
	})
}

// What was collected into a turn that then steers another is heeded with it.
func TestCollectedIntoASteeringTurnIsAbsorbedWithIt(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if a := h.Accept(storetest.Entry("c", "1", "1"), storetest.Mode(storetest.Entry("c", "2", "2"), "collect"), storetest.Mode(storetest.Entry("c", "3", "3"), "collect")); !a[1].Merged || !a[2].Merged {
			t.Errorf("%+v", a)
		}
		ref := h.Claim(1)[0].TurnRef
		if d := h.Load(ref); d.Turn.Message.Text != "1\n\n2\n\n3" {
			t.Errorf("%q", d.Turn.Message.Text)
		}
		steering := h.One(storetest.Mode(storetest.Entry("c", "4", "4"), "steer"))
		if a := h.One(storetest.Mode(storetest.Entry("c", "5", "5"), "collect")); a.Merged {
			t.Errorf("collected into a turn that steers: %+v", a)
		}
		if list := h.absorb(ref, 1); texts(list) != "4" {
			t.Errorf("%+v", list)
		}
		h.WantState(steering.TurnID, "merged")
		if d := h.Load(ref); d.Turn.Message.Text != "1\n\n2\n\n3" || len(d.State.Added) != 1 {
			t.Errorf("%+v", d)
		}
	})
}

// An engine dies between absorbing and heeding: the next one finds what was
// merged, and nothing is answered twice.
func TestAbsorbedSurvivesTheEngine(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := &house{storetest.NewDoomed(t, db)}
		ref := h.Begun("c", "1")
		h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.0", Role: "planner", Answer: "{}"}}})
		h.One(storetest.Mode(storetest.Entry("c", "2", "absorbed"), "steer"))
		h.absorb(ref, 1)
		late := h.One(storetest.Mode(storetest.Entry("c", "3", "late"), "steer"))
		h = &house{h.Successor()}
		ref = h.Claim(1)[0].TurnRef
		if d := h.Load(ref); len(d.State.Added) != 1 || d.State.Added[0].Text != "absorbed" || d.State.Added[0].From != 1 {
			t.Errorf("%+v", d.State.Added)
		}
		if list := h.absorb(ref, 2); texts(list) != "late" {
			t.Errorf("%+v", list)
		}
		h.WantState(late.TurnID, "merged")
		if next := h.Commit(ref, storetest.End("done", "answered")); next != nil {
			t.Errorf("next %+v", next)
		}
	})
}

func TestAcceptSaysWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		as := func(as core.Intent, kind channels.EventKind) intake.Entry {
			e := storetest.Entry("c", "1", "1")
			e.Intent, e.Event.Kind, e.Event.Message.ID = as, kind, ""
			return e
		}
		for want, e := range map[string]intake.Entry{
			"unknown mode":               storetest.Mode(storetest.Entry("c", "1", ""), "stear"),
			"on_edit is":                 storetest.Edited("c", "1", "1", "", "cry"),
			"which message":              as(&intake.NewsIntent{}, channels.EventDeleted),
			"which message it is about":  as(&intake.EditIntent{}, channels.EventEdited),
			"code of an action":          as(&intake.ActionIntent{}, channels.EventAction),
			"unknown membership":         as(&intake.NewsIntent{}, channels.EventMember),
			"which conversation moved":   as(&intake.NewsIntent{}, channels.EventMoved),
			"is no news":                 as(&intake.NewsIntent{}, channels.EventMessage),
			"what it is taken as":        as(nil, channels.EventMessage),
			`unknown audit "somersault"`: as(&intake.AuditIntent{Why: "somersault"}, channels.EventMessage),
		} {
			if _, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Entry("c", "2", "fine"), e}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "entry 1") {
				t.Errorf("%s: %v", want, err)
			}
		}
		if turns, err := h.Router.Turns(h.Ctx, storetest.All, "", 9); len(turns) != 0 || err != nil {
			t.Errorf("%+v, %v", turns, err)
		}
	})
}
