package main_test

import (
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
)

// The doctor really asks each model, and says where commands are not confined.
func TestDoctorAsksTheModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, "[agent]\nplanner = \"fake/model\"\nadmin_unconfined = true\n")
	out, errs, code := r.command("doctor")
	if code != 0 || !strings.Contains(out, "fake/model (planner, reviewer, worker): answered in") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if !strings.Contains(out, "WARN  sandbox") || !strings.Contains(out, "NOT confined: agent.admin_unconfined = true") {
		t.Errorf("no warning of commands without a sandbox:\n%s", out)
	}
	r.model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Fail(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
	})
	out, errs, code = r.command("doctor")
	if code != 1 || !strings.Contains(out, "FAIL  model") || !strings.Contains(out, "rejected the key") || strings.Contains(out+errs, "test-key-not-secret") {
		t.Errorf("a rejected key: exit %d, %s%s", code, out, errs)
	}
}
