package store_test

import (
	"fmt"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/audit"
	"switchboard/router/intake"
)

func TestChangesAndRefusalsAreAuditedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		was := 0
		rows := func(what string, n int, where string) {
			t.Helper()
			was += n
			h.wantCount(n, "SELECT count(*) FROM audit WHERE "+where)
			h.wantCount(was, "SELECT count(*) FROM audit WHERE '"+what+"' <> ''")
		}
		reset := control(entry("c", "1", "/reset"), intake.EffectReset, "forgotten")
		reset.Sender.Rule = audit.RulePeople
		h.Accept(reset)
		rows("reset", 1, "action = 'session.reset' AND person = 'marco' AND rule = 'people' AND target = 'session tg:c' AND session_id = 1")

		somebody := entry("c2", "2", "hello")
		somebody.Sender = intake.Sender{Identity: "tg:77", Person: "tg:77", Rule: audit.RuleOpen, New: true}
		h.Accept(somebody)
		rows("let in", 1, "action = 'person.open' AND target = 'person tg:77' AND rule = 'channel.open'")
		somebody.Key = []byte("again")
		h.Accept(somebody)
		rows("seen again", 0, "action = 'person.open' AND id > 2")

		theirs := h.Begun("c3", "3")
		cancel := func(key, person string, any bool) {
			e := control(entry("c3", key, "/cancel"), intake.EffectCancel, "nothing")
			e.Sender.Person, e.Intent.(*intake.ControlIntent).AnyPerson = person, any
			h.Accept(e)
		}
		cancel("own", "marco", false)
		cancel("own, of an admin", "marco", true)
		rows("own turn", 0, "action = 'turn.cancel'")
		cancel("another's", "root", true)
		rows("of another", 1, fmt.Sprintf("action = 'turn.cancel' AND person = 'root' AND rule = 'role.admin' AND turn_id = %d", theirs.TurnID))
		h.cancel(theirs.TurnID)
		rows("by hand", 1, "action = 'turn.cancel' AND person = 'owner' AND rule = 'machine'")

		asked := h.Begun("c4", "4")
		h.park(asked, "c4")
		rows("asked", 1, fmt.Sprintf("action = 'tool.ask' AND person = 'marco' AND rule = 'policy.ask' AND target = 'approval 1' AND turn_id = %d", asked.TurnID))
		h.DB.SetNow(func() time.Time { return time.Now().Add(48 * time.Hour) })
		if expired, _, err := h.Router.ExpireApprovals(h.Ctx); err != nil || len(expired) != 1 {
			t.Fatalf("%v, %v", expired, err)
		}
		rows("expired", 1, fmt.Sprintf("action = 'approval.expired' AND person = 'marco' AND rule = 'policy.ask' AND turn_id = %d", asked.TurnID))
		h.DB.SetNow(time.Now)

		no := h.Begun("c5", "5")
		h.Commit(no, agent.Step{
			Calls: []agent.Call{{Step: "plan.0.1", Role: "planner"}},
			Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "x"}}}},
		})
		refused := tools.Result{End: tools.EndRefused, Code: "not_permitted", Rule: "channel.tools_deny", Hint: "not here"}
		h.Commit(no, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskFailed, Result: &refused}}})
		rows("refused", 1, fmt.Sprintf(
			"action = 'tool.refused' AND person = 'marco' AND rule = 'channel.tools_deny' AND outcome = 'not_permitted' AND why = 'not here' AND turn_id = %d", no.TurnID))
	})
}
