package agent

import (
	"context"
	"testing"

	"switchboard/agent/llm"
)

// A model that answers in words in place of a plan has answered.
func TestProseIsSaidAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, finish string
		said         bool
	}{
		"words":              {"Rome is the capital of Italy.\n\n- It is *old*, e.g. from 753 BC.\n- See example.com.", "stop", true},
		"one word":           {"42", "eos", true},
		"a quote":            {`"To be" is from Hamlet.`, "stop", true},
		"another tool":       {"I would use post.it notes.", "stop", true},
		"braces":             {"Here: {goal: find it}", "stop", false},
		"a fence":            {"```\nls -l\n```", "stop", false},
		"a tool":             {"I will call look.at with the word Rome.", "stop", false},
		"cut off":            {"Rome is the capital", "length", false},
		"of a tool call":     {"Let me look.", "tool_calls", false},
		"a list in JSON":     {`["Rome"]`, "stop", false},
		"JSON's own nothing": {"null", "stop", false},
	} {
		for _, lenient := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.cfg.Lenient = lenient
				w.extra = append(w.extra, w.tool("look.up", "read", false))
				w.answer = func(context.Context, string, llm.Request) (llm.Response, error) {
					return llm.Response{Text: tc.text, Finish: tc.finish}, nil
				}
				w.run()
				if !tc.said {
					w.wantEnd("failed", "invalid_plan")
					return
				}
				w.wantEnd("done", "answered")
				w.wantTexts(tc.text)
				if len(w.asked) != 1 || w.journal.said[0].Notice {
					t.Errorf("asked %d times, said %+v", len(w.asked), w.journal.said)
				}
			})
		}
	}
}
