package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/tools"
)

// ordering is a world in which no model answers.
func ordering(t *testing.T, tool, args string) *world {
	w := newWorld(t)
	w.script(nil)
	w.journal.ordered = true
	w.turn.Order = &Order{Tool: tool, Args: args}
	return w
}

func TestOrderedToolRunsWithNoModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args, ran, said string }{
		{"post", `{"word":"a"}`, `post{"word":"a"}`, "output of post"},
		{tools.ExecName, `{"command":"ls *"}`, "ls *", "```\noutput of ls *\n```"},
	} {
		w := ordering(t, c.tool, c.args)
		w.journal.send(Incoming{ID: 12, Text: "and more"})
		w.run()
		w.wantTexts(c.said)
		w.wantEnd("done", "answered")
		if !slices.Equal(w.ran, []string{c.ran}) || len(w.asked) != 0 || w.journal.asked != 0 || !w.journal.said[0].Final {
			t.Errorf("ran %q, asked models %d times, absorbed %d times, said %+v", w.ran, len(w.asked), w.journal.asked, w.journal.said)
		}
	}
}

// Whatever it was killed at, its side effect happens once at most, and it ends once.
func TestOrderKilledAtEveryCommitRunsOnce(t *testing.T) {
	t.Parallel()
	calm := ordering(t, "post", `{"word":"a"}`)
	calm.run()
	for n := range calm.journal.steps {
		for _, applied := range []bool{false, true} {
			w := ordering(t, "post", `{"word":"a"}`)
			w.journal.fault = func(i int, apply func()) error {
				if i != n || applied {
					apply()
				}
				if i == n {
					return errKilled
				}
				return nil
			}
			_ = w.agent().Run(t.Context(), w.turn, w.journal)
			w.journal.fault = nil
			if w.journal.end == nil {
				w.run()
			}
			if len(w.ran) > 1 || len(w.journal.said) != 1 || len(w.asked) != 0 {
				t.Errorf("killed at %d (applied %v): ran %q, said %q", n, applied, w.ran, w.journal.texts())
			}
			if cutOff := strings.Contains(w.journal.said[0].Text, "cut off"); cutOff != (w.journal.end.Outcome != "answered") {
				t.Errorf("killed at %d (applied %v): said %q, ended %+v", n, applied, w.journal.texts(), *w.journal.end)
			}
		}
	}
}

// Who orders it again has it done again.
func TestOrderIsRetriedInFull(t *testing.T) {
	t.Parallel()
	w := ordering(t, "post", `{"word":"a"}`)
	w.journal.context.Former = []Former{{State: "done", Plans: []PlanRow{{Tasks: []TaskRow{
		{Task: toolTask("post", "a"), State: TaskDone, Result: &tools.Result{End: tools.EndOK, Output: "FORMER"}},
	}}}}}
	w.run()
	w.wantTexts("output of post")
	if len(w.ran) != 1 {
		t.Errorf("ran %q", w.ran)
	}
}

func TestOrderIsAskedForAndRefusedLikeAnyTask(t *testing.T) {
	t.Parallel()
	w := ordering(t, tools.ExecName, `{"command":"rm x"}`)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == tools.ExecName {
			return tools.Decision{Verdict: tools.Ask, Rule: "policy.ask", Reason: "commands ask"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	w.run()
	if len(w.journal.asks) != 1 || w.journal.asks[0].Shown != "rm x" || len(w.ran) != 0 {
		t.Fatalf("asked %+v, ran %q", w.journal.asks, w.ran)
	}
	w.journal.says = func(Ask) Approval { return Approval{ID: 7, State: Accepted, Scope: "once", By: "marco"} }
	w.run()
	w.wantTexts("```\noutput of rm x\n```")

	w = ordering(t, "post", `{"word":"a"}`)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool != "" {
			return tools.Decision{Verdict: tools.Refuse, Rule: "session.mode", Reason: "this session only asks"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	w.run()
	w.wantTexts("I did not run post (rule session\\.mode).\n\nthis session only asks")
	w.wantEnd("done", "not_reached")
}

// What fails says why, and what it brought stands there as it is.
func TestOrderTellsItsResult(t *testing.T) {
	t.Parallel()
	ok := func(output string) tools.Result { return tools.Result{End: tools.EndOK, Output: output} }
	for _, c := range []struct {
		result tools.Result
		want   string
	}{
		{ok(`{"a":[1]}`), "```json\n{\n  \"a\": [\n    1\n  ]\n}\n```"},
		{ok("*5* o'clock\n"), `\*5\* o\'clock`},
		{ok("a\tb\n```\n"), "````\na\tb\n```\n````"},
		{ok("sent as [a](attachment:7)"), "sent as [a](attachment:7)"},
		{ok(""), "odd is done, and it printed nothing."},
		{tools.Result{End: tools.EndError, Code: "io_error", Output: "no such file", Hint: "look first"}, "odd did not work (io error).\n\nno such file\n\nlook first"},
	} {
		w := ordering(t, "odd", `{"word":"a"}`)
		odd := w.tool("odd", tools.EffectWrite, false)
		odd.Run = func(context.Context, tools.Call) tools.Result { return c.result }
		w.extra = []tools.Tool{odd}
		w.run()
		w.wantTexts(c.want)
	}
	w := ordering(t, "gone", `{}`)
	w.run()
	if got := w.journal.texts()[0]; !strings.Contains(got, "I did not run gone") {
		t.Errorf("said %q", got)
	}
	w = ordering(t, "post", `{"wort":"a"}`)
	w.run()
	if got := w.journal.texts()[0]; !strings.Contains(got, "did not run post") || len(w.ran) != 0 {
		t.Errorf("said %q, ran %q", got, w.ran)
	}
}
