package audit

import (
	"testing"

	"switchboard/channels"
)

func TestAuditIsSaidInWords(t *testing.T) {
	t.Parallel()
	here := channels.Conversation{Channel: "telegram", ID: "7"}
	for want, r := range map[string]Record{
		"changed the language of this chat":               {Action: "session.language", Target: "session telegram:7", Outcome: "done"},
		"changed the language of the terminal":            {Action: "session.language", Target: "session console:owner/default", Outcome: "done"},
		"changed the mode of a chat on slack":             {Action: "session.mode", Target: "session slack:C1", Outcome: "done"},
		"made job 11":                                     {Action: "job.add", Target: "job 11", Outcome: "active"},
		"a message of telegram:5 was refused":             {Action: "message.refused", Target: "telegram:5", Outcome: "kept out"},
		"asked for answer 3: failed (timeout)":            {Action: "turn", Target: "turn 3", Outcome: "failed", Why: "timeout"},
		"asked for answer 4: done":                        {Action: "turn", Target: "turn 4", Outcome: "done", Why: "answered"},
		"removed Bob Noyce: refused, the last admin":      {Action: "person.remove", Target: "person Bob Noyce", Outcome: "refused", Why: "the last admin"},
		"made a claim code":                               {Action: "claim.make", Outcome: "done"},
		"might not use exec, task 1 of attempt 1: denied": {Action: "tool.refused", Target: "exec, task 1 of attempt 1", Outcome: "not_permitted", Why: "denied"},
		"new.thing thing 1":                               {Action: "new.thing", Target: "thing 1", Outcome: "done"},
	} {
		got := did(&r, here)
		if end := end(&r); end != "" {
			got += ": " + end
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
