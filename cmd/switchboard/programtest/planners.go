//go:build linux

package programtest

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"switchboard/agent/llm/llmtest"
)

// Clerk plans the command behind "run", and says that it ran; everything else it repeats.
func Clerk(req llmtest.Request) llmtest.Reply {
	command, runs := strings.CutPrefix(Said(req), "run ")
	switch {
	case req.Role == "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case req.Role == "worker":
		return llmtest.Text(strings.Replace(req.Section("Task"), "Say that you ran ", "ran: ", 1))
	case req.Section("Faults in your last plan") != "":
		return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer("I may not: "+command)))
	case runs:
		name, _, _ := strings.Cut(command, " >>")
		return llmtest.Text(llmtest.Plan("run it", llmtest.Exec(command, "it ends well"), llmtest.Msg("Say that you ran "+name)))
	}
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+Said(req))))
}

// Echo answers with what the person wrote.
func Echo(req llmtest.Request) llmtest.Reply {
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+Said(req))))
}

// Priced are settings with a planner of which a call is reserved at 4 EUR.
const Priced = `[budget]
currency = "EUR"
%s
[scheduler]
timezone = "Europe/Rome"
[llm.models.dear]
model = "fake/model"
max_output_tokens = 4
price_in = 0
price_out = 1000000.0
[agent]
planner = "dear"
`

// Tokens counts as models do.
func Tokens(t testing.TB) func(text string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) int {
		n, err := codec.Count(text)
		if err != nil {
			t.Error(err)
		}
		return n
	}
}
