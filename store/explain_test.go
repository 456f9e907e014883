package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func TestExplainReadsEveryDecision(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		asked := storetest.Claiming(storetest.Entry("c1", "1", "run it"))
		asked.Sender.Rule, asked.Taint = "people", "forwarded"
		ref := h.Accept(asked)[0].Claimed.TurnRef
		call := func(step, role string) agent.Call {
			return agent.Call{Step: step, Role: role, Answer: "{}", Usage: llm.Usage{In: 10, Out: 2, Cost: 0.5}, Exchange: llm.Exchange{Provider: "fake", Model: "m", Duration: time.Second}}
		}
		expect := "it ends well"
		h.Commit(ref, agent.Step{
			Calls: []agent.Call{call("plan.0.1", "planner")},
			Plan: &agent.PlanRow{Goal: "run it", Tasks: []agent.TaskRow{
				{Task: agent.Task{Type: agent.TaskExec, Detail: "echo hi", Expect: &expect}, Position: 0},
				{Task: agent.Task{Type: agent.TaskExec, Detail: "rm -r /", Expect: &expect}, Position: 1},
				{Task: agent.Task{Type: agent.TaskMsg, Detail: "say it"}, Position: 2},
			}},
		})
		change := func(position int, state agent.TaskState, result *tools.Result) []agent.TaskChange {
			return []agent.TaskChange{{Position: position, Type: agent.TaskExec, State: state, Result: result}}
		}
		start := change(0, agent.TaskRunning, nil)
		start[0].AllowedBy = "role.admin"
		h.Commit(ref, agent.Step{Tasks: start})
		h.Commit(ref, agent.Step{
			Tasks: change(0, agent.TaskDone, &tools.Result{End: tools.EndOK, Output: "hi"}),
			Calls: []agent.Call{call("review.0.0.1", "reviewer")}, Review: &agent.Review{Status: "ok", Reason: "as expected"},
		})
		h.Commit(ref, agent.Step{Tasks: change(1, agent.TaskFailed, &tools.Result{
			End: tools.EndRefused, Code: "not_permitted", Rule: "channel.tools_deny", Hint: "exec is switched off",
		})})
		h.Commit(ref, agent.Step{
			Calls: []agent.Call{call("plan.1.1", "planner")},
			Say:   []agent.Say{{Position: -1, Text: "Half of it.", Final: true}}, End: &agent.End{State: "done", Outcome: "answered"},
		}, *storetest.Text("Half of it."))

		turn, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil {
			t.Fatal(err)
		}
		e := turn.Explanation()
		if w := e.Asked[0].WrittenAt; w == nil || !w.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("written at %v", w)
		}
		if len(e.Asked) != 1 || e.Asked[0].Rule != "people" || !strings.Contains(e.Asked[0].Why, "tg:1 belongs to them") || e.Asked[0].Taint != "forwarded" {
			t.Errorf("asked: %+v", e.Asked)
		}
		host, _ := os.Hostname()
		if len(e.Holders) != 1 || e.Holders[0].Engine != h.Owner() || e.Holders[0].Fence != ref.Fence || e.Holders[0].PID != os.Getpid() ||
			e.Holders[0].Host != host || e.Holders[0].From.IsZero() {
			t.Errorf("holders: %+v", e.Holders)
		}
		if len(e.Attempts) != 2 || len(e.Attempts[0].Calls) != 1 || len(e.Attempts[0].Steps) != 3 || e.Attempts[1].Goal != "" || len(e.Attempts[1].Calls) != 1 {
			t.Fatalf("attempts: %+v", e.Attempts)
		}
		done, refused := e.Attempts[0].Steps[0], e.Attempts[0].Steps[1]
		if done.Rule != "role.admin" || done.StartedAt == nil || done.FinishedAt == nil || len(done.Calls) != 1 || done.Review == nil {
			t.Errorf("what was done: %+v", done)
		}
		if refused.Rule != "channel.tools_deny" || refused.Reason != "exec is switched off" || refused.StartedAt != nil {
			t.Errorf("what was refused: %+v", refused)
		}
		if len(e.Said) != 1 || len(e.Said[0].Parts) != 1 || e.Said[0].Parts[0].State != "pending" || e.Cost != 1.5 {
			t.Errorf("said: %+v, cost %v", e.Said, e.Cost)
		}
		told := e.Show("EUR", time.UTC)
		for _, want := range []string{
			"done, ", "marco: allowed, because the identity tg:1 belongs to them (rule people)", "(forwarded)",
			"engine " + storetest.NameOf(h.Owner()) + " (host " + host, "Plan 1: run it", "planner asked fake/m: 1s, 10 tokens in, 2 out, 0.500000 EUR",
			"allowed by rule role.admin", "review: ok, as expected", "failed (refused, not permitted), refused by rule channel.tools_deny: exec is switched off",
			"Plan 2: none that was valid", "Half of it.", "): pending", "Cost: 3 model calls, 30 tokens in, 6 out, 1.500000 EUR",
		} {
			if !strings.Contains(told, want) {
				t.Errorf("the text lacks %q:\n%s", want, told)
			}
		}
		if _, err := h.Router.Turn(h.Ctx, ref.TurnID+7, false); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a turn that is not there: %v", err)
		}
	})
}

// Every engine that held a turn is in its row, in order; of very many the latest.
func TestHoldersAreKept(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c1", "1")
		const times = 60
		for range times {
			h.Release(ref)
			got := h.Claim(1)
			if len(got) != 1 || got[0].TurnID != ref.TurnID {
				t.Fatalf("claimed: %+v", got)
			}
			ref = got[0].TurnRef
		}
		turn, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil {
			t.Fatal(err)
		}
		e := turn.Explanation()
		if n := len(e.Holders); !e.HoldersCut || n < 15 || n > times {
			t.Fatalf("%d holders, cut: %v", n, e.HoldersCut)
		}
		for i, holder := range e.Holders {
			want := ref.Fence - int64(len(e.Holders)-1-i)
			if holder.Engine != h.Owner() || holder.Fence != want || holder.From.Before(time.Now().Add(-time.Hour)) {
				t.Errorf("holder %d of %d: %+v, want fence %d", i, len(e.Holders), holder, want)
			}
		}
		if !strings.Contains(e.Show("", time.UTC), "earlier engines, not shown") {
			t.Error("the text does not say that engines are left out")
		}
	})
}

func TestTurnOfFindsTheTurnOfAMessageOrTheLatest(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.Begun("c1", "1")
		conv := storetest.Entry("c1", "1", "").Event.Conversation
		h.Commit(first, agent.Step{Say: []agent.Say{{Position: -1, Text: "one"}}, End: &agent.End{State: "done", Outcome: "answered"}}, *storetest.Text("one"))
		hold := h.Hold()
		d := h.Begin(hold, conv.ID)
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "p1"})
		second := h.Begun("c1", "2")
		for id, want := range map[string]int64{"m1": first.TurnID, "p1": first.TurnID, "m2": second.TurnID, "": second.TurnID, "nobody's": 0} {
			got, err := h.Router.TurnOf(h.Ctx, conv, channels.MessageID(id))
			if got != want || (want == 0) != errors.Is(err, core.ErrNotFound) {
				t.Errorf("TurnOf(%q) = %d, %v; want %d", id, got, err, want)
			}
		}
	})
}

// Who was kept out is listed with the rule.
func TestKeptOutIsListedWithTheRule(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		eve := storetest.Entry("c9", "9", "let me in")
		eve.Intent, eve.Sender.Person, eve.Sender.Identity, eve.Sender.Rule = &intake.AuditIntent{Why: intake.AuditStranger}, "", "tg:9", "people.unknown"
		h.Accept(eve, storetest.Entry("c1", "1", "hello"))
		list, err := h.Router.KeptOut(h.Ctx, 10)
		if err != nil || len(list) != 1 || list[0].Rule != "people.unknown" || list[0].Text != "let me in" || list[0].Class != "stranger" ||
			!strings.Contains(list[0].Why, "tg:9 belongs to nobody") {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
