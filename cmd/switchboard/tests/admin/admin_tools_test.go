package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// steward plans what admins say in plain words.
func steward(req llmtest.Request) llmtest.Reply {
	switch {
	case req.Role == "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case req.Role == "worker":
		return llmtest.Text("Told: " + req.Section("Outputs of earlier tasks"))
	case req.Section("Faults in your last plan") != "":
		return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer("I may not: "+req.Section("Faults in your last plan"))))
	}
	use := func(tool string, args map[string]any) llmtest.Reply {
		return llmtest.Text(llmtest.Plan("do it", llmtest.Tool(tool, args, "it says so"), llmtest.Msg("Tell it.")))
	}
	switch programtest.Said(req) {
	case "make the log level debug":
		return use("admin.config", map[string]any{"action": "set", "key": "log.level", "value": "debug", "version": nil})
	case "take that back":
		return use("admin.config", map[string]any{"action": "undo", "key": nil, "value": nil, "version": nil})
	case "is play well?":
		return use("admin.channels", map[string]any{"action": "test", "name": "play"})
	case "let Anna in":
		return use("admin.people", map[string]any{"action": "let_in", "name": "anna", "identity": "scripted:u3", "role": nil, "tools": nil})
	case "who did that?":
		return use("admin.audit", map[string]any{"person": nil, "kind": "config", "turn": nil, "before": nil})
	}
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+programtest.Said(req))))
}

// An admin says it in plain words, allows it, and it is as if they had given the command. To users
// the tools are not even shown.
func TestAdminsSayItInPlainWords(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", steward, "u1")
	r.Append("[[people]]\nname = \"u2\"\nidentities = [\"scripted:u2\"]\n")
	r.Up()
	allowed := func(text, tool, want string) {
		t.Helper()
		if asked := r.Ask("u1", text); !strings.Contains(asked, "May I run "+tool) {
			t.Fatalf("%q is answered %q", text, asked)
		}
		code := programtest.PairCode.FindString(r.Shown("u1")[len(r.Shown("u1"))-1])
		before := len(r.Shown("u1"))
		r.Platform.Say("cu1", "u1", "/approve "+code)
		r.Await("it is done", programtest.Patience, func() bool { return strings.Contains(strings.Join(r.Shown("u1")[before:], "\n"), want) })
	}
	allowed("make the log level debug", "/config set log.level debug", "log.level")
	r.Await("it counts", programtest.Patience, func() bool { return strings.Contains(r.Ask("u1", "/config get log.level"), "debug") })
	if said := r.Ask("u1", "who did that?"); !strings.Contains(said, "u1 changed the settings log.level") { // to look is not asked
		t.Errorf("who did that? %q", said)
	}
	allowed("is play well?", "/channel play test", "the check took")
	r.Platform.Say("cu3", "u3", "let me in")
	r.Await("she is refused", programtest.Patience, func() bool { return strings.Contains(r.Ask("u1", "/allow"), "scripted:u3") })
	allowed("let Anna in", "/allow scripted:u3 anna", "anna can write to me now: user, scripted:u3")
	r.Answers("u3", "hello", "heard: hello")
	allowed("take that back", "/config undo", "Version 2")
	r.Await("it counts no more", programtest.Patience, func() bool { return strings.Contains(r.Ask("u1", "/config get log.level"), "info") })
	rows := r.Query("SELECT person, turn_id FROM audit WHERE action = 'config.set' ORDER BY id")
	want := [][]string{{"u1", fmt.Sprint(r.TurnOf("make the log level debug").ID)}, {"u1", fmt.Sprint(r.TurnOf("take that back").ID)}}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("the audit log has %v, want %v", rows, want)
	}
	if got := r.Ask("u2", "make the log level debug"); !strings.Contains(got, "I may not") || !strings.Contains(got, "only admins") {
		t.Errorf("a user is answered %q", got)
	}
	for _, req := range r.Model.Requests() {
		offered := strings.Contains(req.System, "- admin.config(")
		if user := !strings.Contains(req.User, "You work for: u1"); req.Role == "planner" && (offered == user || user && strings.Contains(req.User, "- admin.")) && req.Section("Faults in your last plan") == "" {
			t.Errorf("offered to a user: %v; prompt %q", user, programtest.Tail(req.User, 300))
		}
	}
}
