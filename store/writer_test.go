package store_test

import (
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func TestCommitModesDecideWhatIsSynced(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	h := newHouse(t, db)
	mode := func(what string, want bool, do func()) {
		t.Helper()
		was := db.Commits()
		do()
		got := db.Commits()
		if got.All != was.All+1 || (got.Synced == was.Synced+1) != want || got.Transactions != was.Transactions+1 {
			t.Errorf("%s: %+v after %+v, want one commit, synced %v", what, got, was, want)
		}
	}
	var ref core.TurnRef
	step := func(s agent.Step) func() {
		return func() { t.Helper(); h.Commit(ref, s, make([]outbox.Reply, len(s.Say))...) }
	}
	task := func(position int, kind agent.TaskType, s agent.TaskState) agent.Step {
		return agent.Step{Tasks: []agent.TaskChange{{Position: position, Type: kind, State: s}}}
	}
	mode("accept", true, func() { ref = h.Begun("c", "1") })
	mode("call", false, step(agent.Step{Calls: []agent.Call{{Step: "a"}}}))
	mode("plan", false, step(agent.Step{Plan: &agent.PlanRow{Tasks: []agent.TaskRow{
		{Task: agent.Task{Type: agent.TaskExec}}, {Position: 1, Task: agent.Task{Type: agent.TaskTool}}, {Position: 2, Task: agent.Task{Type: agent.TaskMsg}},
	}}}))
	mode("start of exec", true, step(task(0, agent.TaskExec, agent.TaskRunning)))
	mode("end of exec", false, step(task(0, agent.TaskExec, agent.TaskDone)))
	mode("start of tool", true, step(task(1, agent.TaskTool, agent.TaskRunning)))
	mode("start of msg", false, step(task(2, agent.TaskMsg, agent.TaskRunning)))
	mode("end of turn", false, step(end("done", "answered")))
	var hold outbox.Lease
	mode("take channel", false, func() { hold = h.Hold() })
	ref = h.Begun("o", "3")
	mode("end that begins a part", true, func() { h.opens(ref, hold, "o", 0) })
	h.Posts("c", "2", "a")
	var d *outbox.Delivery
	mode("sending", true, func() { d = h.Begin(hold, "c") })
	mode("sent", false, func() { h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent}) })
	before := db.Commits()
	if d := h.Begin(hold, "c"); d != nil || db.Commits() != before {
		t.Errorf("a look at an empty conversation wrote: %+v", d)
	}
}

func TestWriteAfterCloseFails(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteText(t.Context(), true, "DELETE FROM turns"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}
