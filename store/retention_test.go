package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestSweepTakesWhatIsOverAndOld(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 60 { // more than one batch
			h.WholeTurn("c1", fmt.Sprint("old", i))
		}
		e := storetest.Control(storetest.Entry("c1", "help", "/help"), intake.EffectNone, "help")
		e.Intent.(*intake.ControlIntent).Reply.Read = true
		eve := storetest.Stranger("c9", "eve")
		bad := storetest.Entry("c9", "bad", "")
		bad.Intent, bad.Event.Raw = &intake.AuditIntent{Why: intake.AuditRejected, Reason: "no"}, []byte("x")
		h.Accept(e, eve, bad)
		h.Later(2 * storetest.Day)
		young := h.WholeTurn("c1", "young")
		if n := h.Sweep(storetest.KeepADay); n < 120 {
			t.Errorf("%d rows were cleared away", n)
		}
		want := "turns 1\nmessages 2\nattachments 1\ndeliveries 1\nplans 1\ntasks 1\nreviews 1\nllm_calls 1\nllm_bodies 1\nactions 1\nrejected 0\n"
		if got := h.Counts("turns", "messages", "attachments", "deliveries", "plans", "tasks", "reviews", "llm_calls", "llm_bodies", "actions", "rejected"); got != want {
			t.Errorf("what is left:\n%swant\n%s", got, want)
		}
		if got := h.Counts("memories", "sessions", "event_keys"); got != "memories 61\nsessions 1\nevent_keys 64\n" {
			t.Errorf("what is kept: %s", got) // what was learned stays, and so do the keys
		}
		if v, err := h.Router.Turn(h.Ctx, young.TurnID, false); err != nil || len(v.Plans) != 1 || len(v.Messages) != 2 {
			t.Errorf("the young one: %+v, %v", v, err)
		}
		events, err := h.Router.Events(h.Ctx, "tg:c1", 0, 1000)
		if err != nil || len(events) == 0 || events[0].TurnID != young.TurnID {
			t.Errorf("events: %+v, %v", events, err)
		}
		// What was taken once is not taken again because its row is gone.
		if a := h.Accept(storetest.Entry("c1", "old3", "hello old3"))[0]; !a.Duplicate {
			t.Errorf("an old event is new: %+v", a)
		}
		h.Later(31 * storetest.Day)
		h.Sweep(storetest.KeepADay)
		if got := h.Counts("event_keys"); got != "event_keys 1\n" {
			t.Errorf("keys after 30 days: %s", got)
		}
	})
}

func TestSweepLeavesWhatIsOpen(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		running := h.Begun("c1", "1")
		h.Accept(storetest.Entry("c1", "2", "queued"))
		sending := h.Begun("c2", "3")
		over := agent.Step{Say: []agent.Say{{Position: -1, Text: "a"}}, End: &agent.End{State: "done", Outcome: "answered"}}
		h.Commit(sending, over, *storetest.Text("on its way"))
		model := h.WholeTurn("c3", "4")
		former := h.WholeTurn("c3", "4b")
		retry := h.Begun("c3", "5")
		h.Exec(fmt.Sprintf("UPDATE turns SET retry_of = %d WHERE id IN (%d, %d)", model.TurnID, former.TurnID, retry.TurnID))
		collected := storetest.Entry("c4", "6", "one half")
		collected.Turn().Mode, collected.Turn().CollectWindow = "collect", time.Minute
		other := collected
		other.Key, other.Event.Message.ID, other.Event.Message.Text = []byte("k"), "m7", "the other"
		if a := h.Accept(collected, other); !a[1].Merged {
			t.Fatalf("%+v", a)
		}
		tables := []string{"turns", "messages", "deliveries", "plans", "llm_calls"}
		before := h.Counts(tables...)
		h.Later(2 * storetest.Day)
		h.Sweep(storetest.KeepADay)
		if got := h.Counts(tables...); got != before {
			t.Errorf("what is open or on its way has gone:\n%swas\n%s", got, before)
		}
		// Once it is over and as old as that, it goes.
		hold := h.Hold()
		d := h.Begin(hold, "c2")
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent})
		for _, ref := range []core.TurnRef{running, retry} {
			for next := (&core.Claimed{TurnRef: ref}); next != nil; {
				next = h.Commit(next.TurnRef, agent.Step{End: &agent.End{State: "done", Outcome: "answered"}})
			}
		}
		for _, c := range h.Claim(9) {
			h.Commit(c.TurnRef, agent.Step{End: &agent.End{State: "done", Outcome: "answered"}})
		}
		h.Later(4 * storetest.Day)
		h.Sweep(storetest.KeepADay)
		if got := h.Counts(tables...); got != "turns 0\nmessages 0\ndeliveries 0\nplans 0\nllm_calls 0\n" {
			t.Errorf("what is left:\n%s", got)
		}
	})
}

// While one engine sweeps, another does not; who lost its lease stops.
func TestOneEngineSweeps(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	other, err := engines.Start(h.Ctx, db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	h.WholeTurn("c1", "1")
	h.Later(2 * storetest.Day)
	if err := storetest.Write(h.Ctx, db, "INSERT INTO leases (kind, name, owner, fence, taken_at) VALUES ('run', 'retention', "+storetest.NameOf(other.ID())+", 1, 0)"); err != nil {
		t.Fatal(err)
	}
	if n := h.Sweep(storetest.KeepADay); n != 0 {
		t.Errorf("%d rows cleared away beside another engine", n)
	}
	if n, err := db.Retain(h.Ctx, other.ID(), storetest.KeepADay); n != 0 || err != nil {
		t.Errorf("under a lease that it has already: %d, %v", n, err)
	}
	if err := other.Close(h.Ctx); err != nil {
		t.Fatal(err)
	}
	if n := h.Sweep(storetest.KeepADay); n == 0 {
		t.Error("nothing was cleared away after the other engine ended")
	}
}

// Each query of a sweep that looks for what is old goes through an index, so that an
// engine is as fast with a million rows as with none.
func TestSweepGoesThroughIndexes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.WholeTurn("c", "1")
		if err := h.DB.Optimize(h.Ctx); err != nil { // by what it knows then
			t.Fatal(err)
		}
		h.WantNoScans(store.SweepQueries())
	})
}

// A message was changed after its answer, long ago: the new text is kept for as long as a
// retry may go by it, and no longer than the message.
func TestSweepKeepsTheNewTextOfAMessage(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const meant = "hello, and not what I wrote before"
		ref := h.Begun("c", "1")
		h.Commit(ref, storetest.End("done", "answered"))
		h.One(storetest.Edited("c", "1", "e1", meant, "steer"))
		h.Later(2 * storetest.Day)
		a := h.One(storetest.RetryEntry("c", "3", "m1")) // waits: all workers are busy
		h.Sweep(storetest.KeepADay)
		list := h.Claim(5)
		if len(list) != 1 || list[0].TurnID != a.TurnID {
			t.Fatalf("%+v", list)
		}
		if got := h.Load(list[0].TurnRef).Turn.Message.Text; got != meant {
			t.Errorf("the retry answers %q", got)
		}
		h.Commit(list[0].TurnRef, storetest.End("done", "answered"))
		h.Exec("UPDATE deliveries SET settled = TRUE")
		h.Later(4 * storetest.Day)
		h.Sweep(storetest.KeepADay)
		if got := h.Counts("messages"); got != "messages 0\n" {
			t.Errorf("what is left: %s", got)
		}
	})
}

// The clock of one engine is far ahead: it clears nothing away, and says so once. Set right
// it goes on.
func TestNoSweepByAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	url := storetest.PostgresURL(t)
	h := newHouse(t, storetest.Opened(t, url, "", slog.New(slog.NewTextHandler(&log, nil))))
	other := newHouse(t, storetest.Opened(t, url, "", quiet))
	h.WholeTurn("c1", "1")
	for _, by := range []time.Duration{91 * storetest.Day, -2 * time.Hour} {
		h.DB.Now = func() time.Time { return time.Now().Add(by) }
		if n := h.Sweep(storetest.KeepADay); n != 0 {
			t.Errorf("%s ahead: %d rows cleared away", by, n)
		}
	}
	other.Renew() // its row is there
	if n := log.Count("ERROR"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	h.Later(2 * storetest.Day)
	if n := h.Sweep(storetest.KeepADay); n == 0 {
		t.Error("nothing is cleared away with the clocks together")
	}
	h.DB.Now = time.Now
	h.Sweep(storetest.KeepADay)
	if n := log.Count("ERROR"); n != 2 {
		t.Errorf("astray again, said %d times in all", n)
	}
}

// An engine that renews is never forgotten, whatever its row says of an end, and one that
// died is by the database's clock.
func TestSweepForgetsNoEngineThatLives(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	h, other := newHouse(t, storetest.Opened(t, url, "", quiet)), newHouse(t, storetest.Opened(t, url, "", quiet))
	ref := other.Begun("c", "1")
	// An end by a clock that was far behind, which a renewal does not take back.
	storetest.Exec(t, h.DB, "UPDATE owners SET ended_at = 1 WHERE id = "+storetest.NameOf(other.Owner()))
	h.Sweep(storetest.KeepADay)
	other.Renew()
	other.Commit(ref, storetest.End("done", "answered"))
}
