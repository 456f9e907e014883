package turns

import (
	"testing"
	"time"

	"switchboard/router/approvals"
)

// What /why and /plan say of a step has no ids of tools or rules.
func TestStepsAreSaidInWords(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	ended := began.Add(2 * time.Millisecond)
	for want, step := range map[string]Task{
		"Make the reminder – done after 2ms, allowed to admins": {
			Type: "tool", Tool: "schedule.add", Args: "{}", Detail: "Make the reminder.", State: "done", Outcome: "ok", Rule: "role.admin", StartedAt: &began, FinishedAt: &ended,
		},
		"Make it – failed (the time is not clear): which?": {
			Type: "tool", Tool: "schedule.add", Detail: "Make it.", State: "failed", Outcome: "refused ambiguous", Rule: "", Reason: "which?",
		},
		"Write a.txt – failed (it is not allowed here): an admin has to allow it": {
			Type: "tool", Tool: "workspace.write", Detail: "Write a.txt.", State: "failed", Outcome: "refused not_permitted", Rule: "session.mode", Reason: "an admin (rule taint.url) has to allow it",
		},
		"Run a command: ls . – not begun; I asked: bob denied it": {
			Type: "exec", Detail: "ls .", State: "pending", Approvals: []approvals.Approval{{State: "rejected", Rule: "policy.ask", By: "bob"}},
		},
		"time – stopped midway, allowed": {Type: "tool", Tool: "time", State: "interrupted", Outcome: "error interrupted", Rule: "mine"},
	} {
		if got := step.Words(false) + " – " + step.briefly(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
