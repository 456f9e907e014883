package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store/storetest"
)

func TestAcceptTakesAKeyOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Entry("c", "1", "hello")
		e.Event.Message.ID = "" // where the platform names its messages, that would tell too
		first := h.Accept(e, e)
		if first[0].Duplicate || first[0].TurnID == 0 || first[0].MessageID == 0 || first[0].Event != 1 || !first[0].Waiting {
			t.Errorf("first: %+v", first[0])
		}
		if !first[1].Duplicate || first[1].TurnID != 0 {
			t.Errorf("second in the same batch: %+v", first[1])
		}
		for range 5 {
			if again := h.Accept(e)[0]; !again.Duplicate || again.MessageID != 0 {
				t.Errorf("redelivered: %+v", again)
			}
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		fresh := 0
		for range 8 {
			wg.Go(func() {
				out, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Entry("c", "2", "two"), storetest.Entry("d", "3", "three")})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Errorf("accept: %v", err)
					return
				}
				for _, a := range out {
					if !a.Duplicate {
						fresh++
					}
				}
			})
		}
		wg.Wait()
		if fresh != 2 {
			t.Errorf("%d fresh events of 2", fresh)
		}
		if turns, err := h.Router.Turns(h.Ctx, storetest.All, "", 10); err != nil || len(turns) != 3 {
			t.Errorf("%d turns, %v", len(turns), err)
		}
	})
}

func TestAcceptKeepsRejectedInput(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Entry("c", "1", "")
		e.Intent, e.Event.Raw = &intake.AuditIntent{Why: intake.AuditRejected, Reason: "unknown shape"}, []byte("a\x00b\xff")
		a := h.Accept(e, e, storetest.Entry("c", "2", "fine"))
		if a[0].Rejected != "unknown shape" || a[0].MessageID != 0 || !a[1].Duplicate || a[2].TurnID == 0 {
			t.Errorf("%+v", a)
		}
		got, err := h.Router.Rejected(h.Ctx, 10)
		if err != nil || len(got) != 1 || got[0].Channel != "tg" || got[0].Reason != "unknown shape" || got[0].Raw != "a\uFFFDb\uFFFD" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// PostgreSQL has no room in an index for what does not compress below a third of
// a page. Which of a batch it is about, the caller finds out; kept raw, it goes in.
func TestAcceptSaysWhatIsRefused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		long := storetest.Entry(random(12_000), "1", "hello")
		_, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Entry("c", "2", "fine"), long})
		if h.DB.Kind() == "sqlite" {
			if err != nil {
				t.Errorf("SQLite takes it: %v", err)
			}
			long = storetest.Entry("c", "3", "odd kind")
			long.Event.Conversation.ID, long.Event.Conversation.Kind = "new", "odd"
			if _, err = h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{long}); !errors.Is(err, core.ErrConflict) {
				t.Errorf("a value that the table does not take: %v", err)
			}
		} else if !errors.Is(err, core.ErrRefused) {
			t.Errorf("PostgreSQL refuses it: %v", err)
		}
		long.Intent, long.Event.Raw = &intake.AuditIntent{Why: intake.AuditRejected}, []byte("as it came")
		if a := h.Accept(long)[0]; a.Duplicate {
			t.Errorf("%+v", a)
		}
		if list, err := h.Router.Rejected(h.Ctx, 5); err != nil || len(list) != 1 || list[0].Raw != "as it came" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestAcceptGivesAStrangerNoSession(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Stranger("c", "1")
		if a := h.Accept(e)[0]; a.MessageID == 0 || a.SessionID != 0 || a.TurnID != 0 || a.Event != 0 {
			t.Errorf("%+v", a)
		}
		if ev, err := h.Router.Events(h.Ctx, "tg:c", 0, 10); err != nil || len(ev) != 0 {
			t.Errorf("events %v, %v", ev, err)
		}
	})
}

func TestAcceptAnswersBusy(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		busy := func(key string) intake.Entry {
			return storetest.Limited(storetest.Claiming(storetest.Entry("c", key, "more")), 2)
		}
		a := h.Accept(busy("2"), busy("3"), busy("4"))
		if a[0].Outcome == intake.OutcomeBusy || a[1].Outcome == intake.OutcomeBusy || a[2].Outcome != intake.OutcomeBusy || a[2].TurnID != 0 || a[2].MessageID == 0 || a[2].SessionID != ref.SessionID {
			t.Errorf("%+v", a)
		}
		// A command takes no place and is not refused.
		if c := h.Accept(storetest.Control(storetest.Entry("c", "5", "/help"), intake.EffectNone, "help"))[0]; c.Outcome != "" || c.MessageID == 0 {
			t.Errorf("%+v", c)
		}
		ds, err := h.Router.Deliveries(h.Ctx, storetest.All, "pending", 10)
		if err != nil || len(ds) != 2 || ds[1].Text != "full" || ds[0].Text != "help" {
			t.Errorf("%+v, %v", ds, err)
		}
		if n, err := h.Router.Waiting(h.Ctx, "tg:c"); err != nil || n != 2 {
			t.Errorf("%d waiting, %v", n, err)
		}
	})
}

func TestAcceptCancelStopsTheRunningTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		none := h.Accept(storetest.Control(storetest.Entry("c", "0", "/cancel"), intake.EffectCancel, "nothing runs"))[0]
		if none.CancelTurn != 0 {
			t.Errorf("%+v", none)
		}
		ref := h.Begun("c", "1")
		h.Accept(storetest.Entry("c", "2", "second"))
		other := storetest.Control(storetest.Entry("c", "3", "/cancel"), intake.EffectCancel, "not yours")
		other.Sender.Person = "anna"
		if a := h.Accept(other)[0]; a.CancelTurn != 0 {
			t.Errorf("%+v", a)
		}
		other = storetest.Control(storetest.Entry("c", "4", "/cancel"), intake.EffectCancel, "nothing runs")
		other.Sender.Person, other.Intent.(*intake.ControlIntent).AnyPerson = "root", true
		if a := h.Accept(other)[0]; a.CancelTurn != ref.TurnID {
			t.Errorf("%+v, want turn %d", a, ref.TurnID)
		}
		d, err := h.Router.Load(h.Ctx, ref)
		if err != nil || d.CancelRequested != core.StopCancelled {
			t.Errorf("%+v, %v", d, err)
		}
		ds, _ := h.Router.Deliveries(h.Ctx, storetest.All, "", 10)
		if len(ds) != 2 || ds[0].Text != "not yours" || ds[1].Text != "nothing runs" {
			t.Errorf("%+v", ds)
		}
	})
}

// A turn that nobody has begun needs nobody to end it.
func TestAcceptCancelEndsAQueuedTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		n := 0
		cancel := func(person string) intake.Accepted {
			n++
			e := storetest.Control(storetest.Entry("c", fmt.Sprint("cancel", n), "/cancel"), intake.EffectCancel, "nothing to cancel")
			e.Sender.Person = person
			return h.Accept(e)[0]
		}
		said := func(want string) {
			t.Helper()
			if ds, err := h.Router.Deliveries(h.Ctx, storetest.All, "", 1); err != nil || len(ds) != 1 || ds[0].Text != want {
				t.Errorf("said %+v, %v; want %q", ds, err, want)
			}
		}
		waiting := h.Accept(storetest.Entry("c", "1", "waits for a worker"))[0]
		if a := cancel("anna"); a.CancelTurn != 0 {
			t.Errorf("another person's turn: %+v", a)
		}
		said("nothing to cancel")
		a := cancel("marco")
		if a.CancelTurn != 0 || a.Event == 0 {
			t.Errorf("%+v", a)
		}
		said("dropped")
		h.Ended(waiting.TurnID, a.Event+2) // behind the command and its reply
		cancel("marco")
		said("nothing to cancel")
		if list := h.Claim(5); len(list) != 0 {
			t.Errorf("an ended turn was claimed: %+v", list)
		}

		// Set running behind another turn, and given back for want of a worker.
		ref := h.Begun("c", "2")
		given := h.Accept(storetest.Entry("c", "3", "next"))[0]
		h.Release(h.Commit(ref, storetest.End("done", "answered")).TurnRef)
		a = cancel("marco")
		said("dropped")
		h.Ended(given.TurnID, a.Event+2)

		// One's own in the queue, not the one of somebody else that runs.
		ref = h.Begun("c", "4")
		e := storetest.Entry("c", "5", "mine")
		e.Sender.Person = "anna"
		mine := h.Accept(e)[0]
		a = cancel("anna")
		h.Ended(mine.TurnID, a.Event+2)
		if d := h.Load(ref); d.CancelRequested != core.StopNone {
			t.Errorf("the other turn: %+v", d)
		}

		// What was begun says itself what it did, whoever runs it next.
		h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan"}}})
		h.Release(ref)
		if a = cancel("marco"); a.CancelTurn != ref.TurnID {
			t.Errorf("a turn under way: %+v", a)
		}
		said("dropped") // anna's: this one is left for the turn to answer
		if list := h.Claim(5); len(list) != 1 || list[0].TurnID != ref.TurnID {
			t.Errorf("claimed %+v", list)
		}
	})
}

func TestPartsForAReaderAreSentAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Control(storetest.Entry("c", "1", "/help"), intake.EffectNone, "help")
		e.Intent.(*intake.ControlIntent).Reply.Read = true
		h.Accept(e)
		e = storetest.Control(storetest.Entry("c", "2", "/help"), intake.EffectNone, "nothing")
		e.Intent.(*intake.ControlIntent).Reply.Parts = nil
		h.Accept(e)
		ds, err := h.Router.Deliveries(h.Ctx, storetest.All, "", 10)
		if err != nil || len(ds) != 1 || ds[0].State != "sent" {
			t.Errorf("%+v, %v", ds, err)
		}
		ev, err := h.Router.Events(h.Ctx, "tg:c", 0, 10)
		if err != nil || len(ev) != 4 || ev[1].Message == nil || ev[1].Message.Text != "help" || ev[1].Message.Direction != "out" || !ev[1].Message.Notice {
			t.Errorf("%+v, %v", ev, err)
		}
	})
}

func TestAcceptMakesAPerson(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, key := range []string{"1", "2"} {
			e := storetest.Entry("c", key, "hi")
			e.Sender.New, e.Sender.Person, e.Sender.Identity = true, "tg-7", "tg:7"
			h.Accept(e)
		}
		people, err := h.Router.People(h.Ctx)
		if err != nil || len(people) != 1 || people[0].Name != "tg-7" || people[0].Role != "user" ||
			people[0].Source != "open" || len(people[0].Identities) != 1 || people[0].Identities[0] != "tg:7" {
			t.Errorf("%+v, %v", people, err)
		}
	})
}

func TestAcceptKeepsAnyText(t *testing.T) {
	texts := map[string]string{
		"long": strings.Repeat("é", 64<<10), "emoji": "👩‍👩‍👧‍👦 🇮🇹", "rtl": "שלום \u202Eעולם", "empty": "",
		"colon": "a:b ?::? $1 'x' \\", "nul": "a\x00b", "utf8": "a\xffb",
	}
	each(t, func(t *testing.T, h *house) {
		for key, s := range texts {
			e := storetest.Claiming(storetest.Entry(key, key, s))
			e.Event.Message.Attachments = []channels.Attachment{{ID: "f1", Name: s, Type: "text/plain", Size: 3}}
			a := h.Accept(e)[0]
			d, err := h.Router.Load(h.Ctx, a.Claimed.TurnRef)
			want := strings.NewReplacer("\x00", "\uFFFD", "\xff", "\uFFFD").Replace(s)
			if err != nil || d.Turn.Message.Text != want || len(d.Turn.Message.Attachments) != 1 || d.Turn.Message.Attachments[0].Name != want {
				t.Errorf("%s: came back changed, %v", key, err)
			}
		}
	})
}
