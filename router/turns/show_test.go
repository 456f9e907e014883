package turns_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/turns"
)

// A turn is shown whole, and explained in few words.
func TestShowCutsNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 400)
	v := turns.Turn{
		ID: 7, Session: "tg:1", Person: "ada",
		Plans: []turns.Plan{{Goal: "count", Tasks: []turns.Task{{Type: "exec", Detail: "wc", Expect: "a number", State: "done", Output: "one\ntwo\n"}}}},
		Messages: []turns.Message{
			{SessionMessage: channels.SessionMessage{Direction: "in", Text: "count\n" + long}},
			{SessionMessage: channels.SessionMessage{Direction: "out", Text: "Two.\n" + long}, Class: "say"},
		},
		LLM: []turns.Call{{Step: "plan.0", Role: "planner", CachedTokens: 4, Request: []byte(`{"ask":1}`), Response: "well"}},
	}
	whole, brief := v.Show("EUR", time.UTC), v.Explanation().Show("EUR", time.UTC)
	for _, want := range []string{
		"Session tg:1 of ada\n", "\n    count\n    " + long + "\n", "\n    expect: a number\n", "\n    | one\n    | two\n", "\n    Two.\n    " + long + "\n",
		"0 tokens in (4 cached), 0 out\n    request:\n      {\"ask\":1}\n    answer:\n      well\n",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is not in\n%s", want, whole)
		}
	}
	if strings.Contains(brief, long) || strings.Contains(brief, "| one") {
		t.Errorf("the explanation is not brief:\n%s", brief)
	}
}
