package faults_test

import (
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// An admin reads in the chat what is wrong with the model and which setting mends it;
// others read that it is not set up.
func TestModelSetupErrorNamesItsMendToAdminsOnly(t *testing.T) {
	t.Parallel()
	const mend = `the key for "fake" was refused; set llm.providers.fake.api_key to a valid key`
	r := programtest.PlannedBy(t, "[[people]]\nname = \"guest\"\nidentities = [\"scripted:guest\"]\n", func(llmtest.Request) llmtest.Reply {
		return llmtest.Fail(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
	}, "u1")
	r.Up()
	for _, tt := range []struct{ who, says, has, hasNot string }{
		{"u1", "hello", mend, "Incorrect"},
		{"u1", "/why", "set llm.providers.fake.api_key", "none that was valid"},
		{"u1", "/status", "set llm.providers.fake.api_key", ""},
		{"guest", "hello", "not set up properly", "api_key"},
		{"guest", "/why", "the language model gave no answer", "api_key"},
		{"guest", "/status", "failed", "api_key"},
	} {
		got := r.Ask(tt.who, tt.says)
		if !strings.Contains(got, tt.has) || tt.hasNot != "" && strings.Contains(got, tt.hasNot) || strings.Contains(got, "test-key-not-secret") {
			t.Errorf("%s says %s and reads %q", tt.who, tt.says, got)
		}
	}
}
