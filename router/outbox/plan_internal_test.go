package outbox

import (
	"testing"

	"switchboard/agent"
)

// Only the last of a plan's messages is the answer.
func TestPlanTextNamesItsMessages(t *testing.T) {
	t.Parallel()
	plan := &agent.PlanRow{Goal: "look"}
	for _, kind := range []agent.TaskType{agent.TaskMsg, agent.TaskExec, agent.TaskMsg} {
		plan.Tasks = append(plan.Tasks, agent.TaskRow{Task: agent.Task{Type: kind, Detail: "ls"}, State: agent.TaskPending})
	}
	if got, want := Plan(plan), "**look**\n\n▫️ send a message\\\n▫️ ls\\\n▫️ write the answer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
