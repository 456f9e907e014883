package turns_test

import (
	"encoding/json"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func TestRedactLeavesNoTrace(t *testing.T) {
	const secret = `hunter2 "quoted" <tag>`
	each(t, func(t *testing.T, h *house) {
		e := storetest.Claiming(storetest.Entry("c", "1", "log in with "+secret))
		e.Event.Message.Quote = "they said " + secret
		ref := h.Accept(e)[0].Claimed.TurnRef
		request, err := json.Marshal(map[string]string{"content": "the person wrote " + secret})
		if err != nil {
			t.Fatal(err)
		}
		h.Commit(ref, agent.Step{Calls: []agent.Call{{
			Step: "plan.0.1", Role: "planner", Answer: "use " + secret, Exchange: llm.Exchange{Request: request, Response: []byte(secret)},
		}}})
		args := string(request)
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "log in with " + secret, Tasks: []agent.TaskRow{
			{Task: agent.Task{Type: agent.TaskExec, Detail: "login " + secret, Args: &args, Choices: []string{secret}}},
		}}})
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}}})
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{
			Type: agent.TaskExec, State: agent.TaskFailed, Result: &tools.Result{End: tools.EndError, Output: secret, Hint: secret},
		}}})
		h.Commit(ref, agent.Step{
			Review: &agent.Review{Status: "replan", Reason: secret + " is wrong", Learn: secret},
			Say:    []agent.Say{{Position: -1, Text: "tried " + secret}},
		}, outbox.Reply{Text: "tried " + secret, Parts: []channels.Body{{Text: "tried " + secret, Rich: request}}})
		h.Commit(ref, agent.Step{Redact: []string{secret}, End: &agent.End{State: "failed", Outcome: "not_available"}})

		turn, err := h.Router.Turn(h.Ctx, ref.TurnID, true)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(turn)
		if err != nil {
			t.Fatal(err)
		}
		events, err := h.Router.Events(h.Ctx, "tg:c", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		deliveries, err := h.Router.Deliveries(h.Ctx, storetest.All, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := json.Marshal(map[string]any{"events": events, "deliveries": deliveries})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(shown), string(rest)} {
			if strings.Contains(text, "hunter2") || !strings.Contains(text, "[redacted]") {
				t.Errorf("the credential is shown, or nothing stands for it: %s", text)
			}
		}
		if path := h.DB.Path(); path != "" {
			storetest.CheckFiles(t, path, "hunter2")
		}
	})
}

// What was typed is also in the name of a file, and in what belongs to no turn but is
// read by later ones: a message that was edited after its answer, and what repeats it.
func TestRedactReachesBesideTheTurn(t *testing.T) {
	const secret = "hunter2-xyz"
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.Commit(ref, agent.Step{End: &agent.End{State: "done", Outcome: "answered"}})
		if a := h.One(storetest.Edited("c", "1", "e1", "it is "+secret, "steer")); a.Edited != intake.EditRevised {
			t.Fatalf("%+v", a)
		}
		h.Accept(storetest.Control(storetest.Entry("c", "2", "/status"), intake.EffectNone, "running: "+secret))
		h.One(storetest.Entry("d", "3", "of another session: "+secret))
		h.Exec("INSERT INTO recalled (kind, ref, scope, said_at, mark, words) SELECT 'message', id, 'person:marco', 1, 'x', 'w' FROM messages WHERE direction = 'in'")
		e := storetest.Claiming(storetest.WithFile(storetest.Entry("c", "4", "read it"), "ref", 7))
		e.Event.Message.Attachments[0].Name = secret + ".txt"
		h.Commit(h.Accept(e)[0].Claimed.TurnRef, agent.Step{
			Redact: []string{secret}, End: &agent.End{State: "failed", Outcome: "not_available"},
		})
		for query, want := range map[string]int{
			"SELECT count(*) FROM messages WHERE text LIKE '%hunter2%'":                                                                        1, // the other session's
			"SELECT count(*) FROM messages WHERE text LIKE '%[redacted]'":                                                                      2,
			"SELECT count(*) FROM attachments WHERE name LIKE '%hunter2%'":                                                                     0,
			"SELECT count(*) FROM recalled r JOIN messages m ON m.id = r.ref WHERE m.text LIKE '%[redacted]%' AND m.text NOT LIKE '%running%'": 0,
			"SELECT count(*) FROM recalled r JOIN messages m ON m.id = r.ref WHERE m.text LIKE '%hunter2%'":                                    1,
			"SELECT count(*) FROM attachments WHERE name = '[redacted].txt'":                                                                   1,
			"SELECT count(*) FROM deliveries WHERE text LIKE '%hunter2%'":                                                                      0,
			"SELECT count(*) FROM deliveries WHERE text = 'running: [redacted]'":                                                               1,
		} {
			h.WantCount(want, query)
		}
	})
}

// What was typed also stands in the command of a button under an answer, and in a question that was asked elsewhere.
func TestRedactReachesButtonsAndQuestions(t *testing.T) {
	const secret = "hunter2-xyz"
	each(t, func(t *testing.T, h *house) {
		h.Root()
		e := storetest.Control(storetest.Entry("c", "1", "/remind at 9 "+secret), intake.EffectNone, "which 9?")
		e.Intent.(*intake.ControlIntent).Reply.Actions = []outbox.Action{{
			Code: storetest.CodeOf(99), Kind: outbox.ActionCommand, Text: "remind at 21 " + secret, Person: "marco", ExpiresAt: storetest.Tomorrow(),
		}}
		h.Accept(e)
		ref := h.Begun("c", "2")
		step, asked := storetest.Parks(), storetest.Asked(ref.TurnID, "admins")
		step.Ask.Shown, asked.Questions[0].Reply.Text = "login "+secret, "login "+secret
		if _, err := h.Router.Ask(h.Ctx, ref, step, asked); err != nil {
			t.Fatal(err)
		}
		h.Accept(storetest.Decides(ref.TurnID, "admins", outbox.DoesOnce))
		h.Commit(h.Claim(1)[0].TurnRef, agent.Step{Redact: []string{secret}, End: &agent.End{State: "failed", Outcome: "not_available"}})
		for query, want := range map[string]int{
			"SELECT count(*) FROM actions WHERE text LIKE '%hunter2%'":                           0,
			"SELECT count(*) FROM actions WHERE text = 'remind at 21 [redacted]'":                1,
			"SELECT count(*) FROM approvals WHERE shown = 'login [redacted]'":                    1,
			"SELECT count(*) FROM messages WHERE text LIKE '%hunter2%'":                          0,
			"SELECT count(*) FROM messages WHERE text = 'login [redacted]'":                      1,
			"SELECT count(*) FROM deliveries WHERE text || coalesce(extra, '') LIKE '%hunter2%'": 0,
		} {
			h.WantCount(want, query)
		}
	})
}
