package storetest

import (
	"context"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/engines"
)

// Release lets go of a turn that has begun.
func (h *House) Release(ref core.TurnRef) {
	h.Helper()
	if err := h.Router.ReleaseSession(h.Ctx, ref); err != nil {
		h.Fatalf("give back: %v", err)
	}
}

// Cancel cancels a turn as the owner.
func (h *House) Cancel(turn int64) {
	h.Helper()
	if _, err := h.Router.Cancel(h.Ctx, turn, people.LocalActor("owner")); err != nil {
		h.Fatalf("cancel: %v", err)
	}
}

// Submit submits what a job asks.
func (h *House) Submit(s jobs.Submission, turn intake.TurnIntent) intake.Accepted {
	h.Helper()
	var say *outbox.Reply
	if s.Say {
		say = &outbox.Reply{Text: s.Text, Person: s.Person, Parts: []channels.Body{{Text: "one"}, {Text: "two"}}}
	} else if turn.QueueLimit == 0 {
		turn.QueueLimit = 50
	}
	a, err := h.Router.Submit(h.Ctx, h.Owner(), s, turn, say)
	if err != nil {
		h.Fatalf("submit %s: %v", s.Key, err)
	}
	return a
}

// One accepts one entry.
func (h *House) One(e intake.Entry) intake.Accepted {
	h.Helper()
	return h.Accept(e)[0]
}

// Load loads a turn.
func (h *House) Load(ref core.TurnRef) *core.TurnData {
	h.Helper()
	d, err := h.Router.Load(h.Ctx, ref)
	if err != nil {
		h.Fatalf("load: %v", err)
	}
	return d
}

// WantState wants a turn in that state.
func (h *House) WantState(turn int64, state string) {
	h.Helper()
	if v, err := h.Router.Turn(h.Ctx, turn, false); err != nil || v.State != state {
		h.Errorf("turn %d: %+v, %v, want %s", turn, v, err, state)
	}
}

// Answers are the replies to a session's commands.
func (h *House) Answers(conv string) (list []string) {
	h.Helper()
	events, err := h.Router.Events(h.Ctx, "tg:"+conv, 0, 1000)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range events {
		if e.Message != nil && e.Message.Direction == "out" {
			list = append(list, e.Message.Text)
		}
	}
	return list
}

// Ended wants a turn that was cancelled before it began, with its event n.
func (h *House) Ended(turn, n int64) {
	h.Helper()
	v, err := h.Router.Turn(h.Ctx, turn, false)
	if err != nil || v.State != "cancelled" || v.Outcome != "cancelled" || v.FinishedAt == nil {
		h.Errorf("turn %d: %+v, %v", turn, v, err)
		return
	}
	events, err := h.Router.Events(h.Ctx, v.Session, n-1, 1)
	if err != nil || len(events) != 1 || events[0].Kind != "turn" || events[0].TurnID != turn ||
		string(events[0].Data) != `{"state":"cancelled","outcome":"cancelled"}` {
		h.Errorf("event %d: %+v, %v", n, events, err)
	}
}

// NewDoomed is a house whose engine dies, or at the latest ends with the test.
func NewDoomed(t testing.TB, db *store.DB) *House {
	t.Helper()
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return &House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()}
}

// Successor kills the engine and gives the house another.
func (h *House) Successor() *House {
	h.Helper()
	h.Die()
	return NewDoomed(h, h.DB)
}

// Parks is a step by which a turn waits, with a task that is not begun.
func Parks() agent.Step {
	return agent.Step{
		Calls: []agent.Call{{Step: "plan.0.1", Role: "planner"}},
		Plan:  &agent.PlanRow{Goal: "run it", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "true"}}}},
		Ask:   &agent.Ask{Tool: "exec", Shown: "true", Hash: []byte("true"), Rule: "policy.ask"},
		End:   &agent.End{State: "waiting"},
	}
}

// Park parks a turn of the conversation conv, with a question there.
func (h *House) Park(ref core.TurnRef, conv string) *core.Claimed {
	h.Helper()
	next, err := h.Router.Ask(h.Ctx, ref, Parks(), Asked(ref.TurnID, conv))
	if err != nil {
		h.Fatalf("park: %v", err)
	}
	return next
}

// WholeTurn makes a finished turn with a row in every table that a turn can have one in, and
// all it said sent.
func (h *House) WholeTurn(conv, key string) core.TurnRef {
	h.Helper()
	h.Renew() // a slow machine takes long for many of these
	e := Claiming(Entry(conv, key, "hello "+key))
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
	reply := *Text("answer")
	reply.Actions = []outbox.Action{{Code: outbox.HashCode(key), Kind: outbox.ActionChoice, Text: "yes", Number: 1, ExpiresAt: time.Now().Add(time.Hour)}}
	reply.Read = true
	h.Commit(ref, agent.Step{Say: []agent.Say{{Position: -1, Text: "answer"}}, End: &agent.End{State: "done", Outcome: "answered"}}, reply)
	return ref
}
