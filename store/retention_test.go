package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

const day = 24 * time.Hour

var keepADay = store.Retention{Turns: day, Strangers: day, Prompts: day, Audit: day, Sessions: 300 * day}

// later makes our clock and the database's so much later; engines that live have renewed.
func (h *house) later(by time.Duration) {
	h.Helper()
	h.DB.SetNow(func() time.Time { return time.Now().Add(by) })
	if h.DB.Kind() == "postgres" {
		storetest.ServerClock(h, h.DB, by)
		run(h, h.DB, "UPDATE owners SET renewed_at = sb_clock(), expires_at = sb_clock() + 15000000 WHERE state = 'alive' AND declared_at IS NULL")
	}
}

func (h *house) sweep(keep store.Retention) int64 {
	h.Helper()
	n, err := h.DB.Retain(h.Ctx, h.owner(), keep)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// counts are how many rows each table has.
func (h *house) counts(tables ...string) string {
	h.Helper()
	var b strings.Builder
	for _, table := range tables {
		n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM "+table)
		if err != nil {
			h.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d\n", table, n)
	}
	return b.String()
}

// whole makes a finished turn with a row in every table that a turn can have one in, and
// all it said sent.
func (h *house) whole(conv, key string) core.TurnRef {
	h.Helper()
	h.Renew() // a slow machine takes long for many of these
	e := claiming(entry(conv, key, "hello "+key))
	e.Event.Message.Attachments = []channels.Attachment{{ID: "f", Kind: channels.Document}}
	ref := h.Accept(e)[0].Claimed.TurnRef
	h.Commit(ref, agent.Step{
		Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "{}"}},
		Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "x"}}}},
	})
	h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}}})
	h.Commit(ref, agent.Step{
		Tasks:  []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskDone, Result: &tools.Result{End: tools.EndOK}}},
		Review: &agent.Review{Status: "ok", Learn: "something"},
	})
	reply := *text("answer")
	reply.Actions = []outbox.Action{{Code: outbox.HashCode(key), Kind: outbox.ActionChoice, Text: "yes", Number: 1, ExpiresAt: time.Now().Add(time.Hour)}}
	reply.Read = true
	h.Commit(ref, agent.Step{Say: []agent.Say{{Position: -1, Text: "answer"}}, End: &agent.End{State: "done", Outcome: "answered"}}, reply)
	return ref
}

func TestSweepTakesWhatIsOverAndOld(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 60 { // more than one batch
			h.whole("c1", fmt.Sprint("old", i))
		}
		e := control(entry("c1", "help", "/help"), intake.EffectNone, "help")
		e.Intent.(*intake.ControlIntent).Reply.Read = true
		eve := stranger("c9", "eve")
		bad := entry("c9", "bad", "")
		bad.Intent, bad.Event.Raw = &intake.AuditIntent{Why: intake.AuditRejected, Reason: "no"}, []byte("x")
		h.Accept(e, eve, bad)
		h.later(2 * day)
		young := h.whole("c1", "young")
		if n := h.sweep(keepADay); n < 120 {
			t.Errorf("%d rows were cleared away", n)
		}
		want := "turns 1\nmessages 2\nattachments 1\ndeliveries 1\nplans 1\ntasks 1\nreviews 1\nllm_calls 1\nllm_bodies 1\nactions 1\nrejected 0\n"
		if got := h.counts("turns", "messages", "attachments", "deliveries", "plans", "tasks", "reviews", "llm_calls", "llm_bodies", "actions", "rejected"); got != want {
			t.Errorf("what is left:\n%swant\n%s", got, want)
		}
		if got := h.counts("memories", "sessions", "event_keys"); got != "memories 61\nsessions 1\nevent_keys 64\n" {
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
		if a := h.Accept(entry("c1", "old3", "hello old3"))[0]; !a.Duplicate {
			t.Errorf("an old event is new: %+v", a)
		}
		h.later(31 * day)
		h.sweep(keepADay)
		if got := h.counts("event_keys"); got != "event_keys 1\n" {
			t.Errorf("keys after 30 days: %s", got)
		}
	})
}

func TestSweepLeavesWhatIsOpen(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		running := h.Begun("c1", "1")
		h.Accept(entry("c1", "2", "queued"))
		sending := h.Begun("c2", "3")
		over := agent.Step{Say: []agent.Say{{Position: -1, Text: "a"}}, End: &agent.End{State: "done", Outcome: "answered"}}
		h.Commit(sending, over, *text("on its way"))
		model := h.whole("c3", "4")
		former := h.whole("c3", "4b")
		retry := h.Begun("c3", "5")
		h.write(fmt.Sprintf("UPDATE turns SET retry_of = %d WHERE id IN (%d, %d)", model.TurnID, former.TurnID, retry.TurnID))
		collected := entry("c4", "6", "one half")
		collected.Turn().Mode, collected.Turn().CollectWindow = "collect", time.Minute
		other := collected
		other.Key, other.Event.Message.ID, other.Event.Message.Text = []byte("k"), "m7", "the other"
		if a := h.Accept(collected, other); !a[1].Merged {
			t.Fatalf("%+v", a)
		}
		tables := []string{"turns", "messages", "deliveries", "plans", "llm_calls"}
		before := h.counts(tables...)
		h.later(2 * day)
		h.sweep(keepADay)
		if got := h.counts(tables...); got != before {
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
		h.later(4 * day)
		h.sweep(keepADay)
		if got := h.counts(tables...); got != "turns 0\nmessages 0\ndeliveries 0\nplans 0\nllm_calls 0\n" {
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
	h.whole("c1", "1")
	h.later(2 * day)
	if err := db.WriteText(h.Ctx, true, "INSERT INTO leases (kind, name, owner, fence, taken_at) VALUES ('run', 'retention', "+nameOf(other.ID())+", 1, 0)"); err != nil {
		t.Fatal(err)
	}
	if n := h.sweep(keepADay); n != 0 {
		t.Errorf("%d rows cleared away beside another engine", n)
	}
	if n, err := db.Retain(h.Ctx, other.ID(), keepADay); n != 0 || err != nil {
		t.Errorf("under a lease that it has already: %d, %v", n, err)
	}
	if err := other.Close(h.Ctx); err != nil {
		t.Fatal(err)
	}
	if n := h.sweep(keepADay); n == 0 {
		t.Error("nothing was cleared away after the other engine ended")
	}
}

// Each query of a sweep that looks for what is old goes through an index, so that an
// engine is as fast with a million rows as with none.
func TestSweepGoesThroughIndexes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.whole("c", "1")
		if err := h.DB.Optimize(h.Ctx); err != nil { // by what it knows then
			t.Fatal(err)
		}
		for name, query := range store.SweepQueries() {
			plan, err := h.DB.Plan(h.Ctx, query)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, line := range plan {
				if h.DB.Kind() == "sqlite" && strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "INDEX") && !strings.HasPrefix(line, "SCAN x") ||
					strings.Contains(line, "Seq Scan") || strings.Contains(line, "TEMP B-TREE FOR ORDER BY") {
					t.Errorf("%s:\n%s", name, strings.Join(plan, "\n"))
					break
				}
			}
		}
	})
}

// A message was changed after its answer, long ago: the new text is kept for as long as a
// retry may go by it, and no longer than the message.
func TestSweepKeepsTheNewTextOfAMessage(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const meant = "hello, and not what I wrote before"
		ref := h.Begun("c", "1")
		h.Commit(ref, end("done", "answered"))
		h.one(edited("c", "1", "e1", meant, "steer"))
		h.later(2 * day)
		a := h.one(retry("c", "3", "m1")) // waits: all workers are busy
		h.sweep(keepADay)
		list := h.Claim(5)
		if len(list) != 1 || list[0].TurnID != a.TurnID {
			t.Fatalf("%+v", list)
		}
		if got := h.load(list[0].TurnRef).Turn.Message.Text; got != meant {
			t.Errorf("the retry answers %q", got)
		}
		h.Commit(list[0].TurnRef, end("done", "answered"))
		h.write("UPDATE deliveries SET settled = TRUE")
		h.later(4 * day)
		h.sweep(keepADay)
		if got := h.counts("messages"); got != "messages 0\n" {
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
	h := newHouse(t, opened(t, url, "", slog.New(slog.NewTextHandler(&log, nil))))
	other := newHouse(t, opened(t, url, "", quiet))
	h.whole("c1", "1")
	for _, by := range []time.Duration{91 * day, -2 * time.Hour} {
		h.DB.SetNow(func() time.Time { return time.Now().Add(by) })
		if n := h.sweep(keepADay); n != 0 {
			t.Errorf("%s ahead: %d rows cleared away", by, n)
		}
	}
	other.Renew() // its row is there
	if n := log.Count("ERROR"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	h.later(2 * day)
	if n := h.sweep(keepADay); n == 0 {
		t.Error("nothing is cleared away with the clocks together")
	}
	h.DB.SetNow(time.Now)
	h.sweep(keepADay)
	if n := log.Count("ERROR"); n != 2 {
		t.Errorf("astray again, said %d times in all", n)
	}
}

// An engine that renews is never forgotten, whatever its row says of an end, and one that
// died is by the database's clock.
func TestSweepForgetsNoEngineThatLives(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	h, other := newHouse(t, opened(t, url, "", quiet)), newHouse(t, opened(t, url, "", quiet))
	ref := other.Begun("c", "1")
	// An end by a clock that was far behind, which a renewal does not take back.
	run(t, h.DB, "UPDATE owners SET ended_at = 1 WHERE id = "+nameOf(other.owner()))
	h.sweep(keepADay)
	other.Renew()
	other.Commit(ref, end("done", "answered"))
}
