package agent

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// jobWorld is a turn that nobody typed, under these terms.
func jobWorld(t *testing.T, terms Limits) *world {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	w.turn.Limits = terms
	return w
}

func TestNobodyIsAskedInATurnWithoutApprovals(t *testing.T) {
	for name, grant := range map[string]*Approval{
		"nothing was granted": nil,
		"it was granted":      {ID: 5, State: Accepted, Scope: "always", Grant: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := jobWorld(t, Limits{NoApprovals: true, Run: 3})
			w.decide = func(q tools.Question) tools.Decision {
				if q.Tool == "post" {
					return tools.Decision{Verdict: tools.Ask, Rule: "policy.ask", Reason: "it asks"}
				}
				return tools.Decision{Verdict: tools.Allow, Rule: "test"}
			}
			if grant != nil {
				w.journal.says = func(Ask) Approval { return *grant }
			}
			replan := `{"status":"replan","reason":"it was refused","learn":null}`
			w.script(map[string][]string{
				rolePlanner:  {planText(toolTask("post", "a"), msgTask("tell")), planText(answerTask("it was not posted"))},
				roleReviewer: {map[bool]string{true: replan, false: okText()}[grant == nil]}, roleWorker: {"posted"},
			})
			w.run()
			if len(w.journal.asks) != 0 {
				t.Fatalf("somebody was asked: %+v", w.journal.asks)
			}
			result := w.journal.plans[0].Tasks[0].Result
			if grant == nil && (result.End != tools.EndRefused || result.Rule != ruleNoApprovals || !strings.Contains(result.Hint, "policy.ask")) || grant == nil != (len(w.ran) == 0) {
				t.Errorf("it ended %+v, ran %q", result, w.ran)
			}
			if w.journal.end.State != "done" {
				t.Errorf("the turn ended %+v", w.journal.end)
			}
			if user := w.requests(rolePlanner)[0].User; !strings.Contains(user, "Refused, as nobody is there to be asked, unless they allowed the very same before: post") || !strings.Contains(user, "a job asks for") {
				t.Errorf("the planner was told\n%s", user)
			}
		})
	}
}

func TestTermsWithholdTools(t *testing.T) {
	for name, c := range map[string]struct {
		terms   Limits
		rule    string
		offered []string
	}{
		"no tools": {Limits{NoTools: true}, ruleNoTools, nil},
		"no web":   {Limits{NoWeb: true}, ruleNoWeb, []string{"exec", "look", "post"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := jobWorld(t, c.terms)
			w.script(map[string][]string{rolePlanner: {planText(toolTask("fetch", "a"), msgTask("tell")), planText(answerTask("no"))}})
			w.run()
			reqs := w.requests(rolePlanner)
			var offered []string
			for _, tool := range []string{"exec", "look", "fetch", "post"} {
				if regexp.MustCompile(`\n- ` + tool + `[(:]`).MatchString(reqs[0].System) {
					offered = append(offered, tool)
				}
			}
			if !slices.Equal(offered, c.offered) || len(w.ran) != 0 || len(reqs) != 2 || !strings.Contains(reqs[1].User, c.rule) {
				t.Errorf("offered %q, ran %q, asked %d times", offered, w.ran, len(reqs))
			}
		})
	}
	t.Run("a command that is not confined reaches out", func(t *testing.T) {
		w := jobWorld(t, Limits{NoWeb: true})
		w.cfg.Sandbox = "off"
		w.script(map[string][]string{rolePlanner: {planText(execTask("curl"), msgTask("tell")), planText(answerTask("no"))}})
		if w.run(); len(w.ran) != 0 {
			t.Errorf("ran %q", w.ran)
		}
	})
}

func TestNoQuestionsRefusesChoices(t *testing.T) {
	w := jobWorld(t, Limits{NoQuestions: true})
	asks := answerTask("which?")
	asks.Choices = []string{"one", "two"}
	w.script(map[string][]string{rolePlanner: {planText(asks), planText(answerTask("done"))}})
	w.run()
	if texts := w.journal.texts(); !slices.Equal(texts, []string{"done"}) {
		t.Errorf("said %q", texts)
	}
}

func TestQuietAnswerIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		plan string
		want []string
	}{
		"ready":                {planText(answerTask(QuietAnswer)), nil},
		"written by a worker":  {planText(msgTask("tell")), nil},
		"something to say":     {planText(answerTask("The disk is full.")), []string{"The disk is full."}},
		"a word beside it":     {planText(answerTask("Note: " + QuietAnswer)), []string{"Note: " + QuietAnswer}},
		"with signs around it": {planText(answerTask("`" + QuietAnswer + "`.")), nil},
		"in small letters":     {planText(answerTask("nothing_to_say")), nil},
		"as people write it":   {planText(answerTask("**Nothing to say.**")), nil},
		"with words behind it": {planText(answerTask("NOTHING_TO_SAY: all is as it was.")), nil},
		"no plan at all":       {"NOTHING_TO_SAY", nil},
		"words before it":      {planText(answerTask("Диск полон. Nothing to say.")), []string{"Диск полон. Nothing to say."}},
		"another word":         {planText(answerTask("Nothing to sayings: the disk is full.")), []string{"Nothing to sayings: the disk is full."}},
	} {
		t.Run(name, func(t *testing.T) {
			w := jobWorld(t, Limits{Quiet: true, Model: "own"})
			w.turn.Place.Streams = true
			w.script(map[string][]string{rolePlanner: {c.plan}, roleWorker: {QuietAnswer + "\n"}})
			w.run()
			if !slices.Equal(w.journal.texts(), c.want) || w.journal.end.State != "done" || (w.journal.end.Outcome == "quiet") != (c.want == nil) || len(w.journal.streamed) != 0 {
				t.Errorf("said %q, streamed %q, ended %+v", w.journal.texts(), w.journal.streamed, w.journal.end)
			}
		})
	}
	t.Run("others say it", func(t *testing.T) {
		w := jobWorld(t, Limits{})
		w.script(map[string][]string{rolePlanner: {planText(answerTask(QuietAnswer))}})
		if w.run(); len(w.journal.texts()) != 1 {
			t.Error("it was not said")
		}
	})
}

func TestLinesOfJobsAreNoWordsOfTheirOwner(t *testing.T) {
	w := jobWorld(t, Limits{})
	w.journal.context.Recent = []Line{{Author: "marco", Job: true, Text: "list files"}}
	w.script(map[string][]string{rolePlanner: {planText(answerTask("done"))}})
	w.run()
	if user := w.requests(rolePlanner)[0].User; !strings.Contains(user, "- a job of marco: list files") {
		t.Errorf("the planner reads\n%s", user)
	}
}

// A job that only looks around has the offline model look at nothing: it could say no more than what it needs.
func TestQuietTurnWithoutAModelSaysNothing(t *testing.T) {
	t.Parallel()
	w := offlineWorld(t, "This is a heartbeat")
	w.cfg.Planner, w.turn.Limits = llm.Offline, Limits{Quiet: true}
	if w.run(); len(w.journal.texts()) != 0 || len(w.journal.calls) != 0 || *w.journal.end != (End{State: "done", Outcome: "no_model"}) {
		t.Errorf("said %q, ended %+v", w.journal.texts(), w.journal.end)
	}
}

// What is late is asked in the same words, which the offline model knows, and says so below its answer.
func TestLateTurnSaysSoBelowItsAnswer(t *testing.T) {
	t.Parallel()
	w := offlineWorld(t, "what can you do?")
	w.cfg.Planner, w.turn.Limits = llm.Offline, Limits{Run: 1, Late: "(was due at Mon 09:00)"}
	w.run()
	if said := w.journal.texts(); len(said) != 1 || !strings.Contains(said[0], "\"run uname -a\"") || !strings.HasSuffix(said[0], "\n\n(was due at Mon 09:00)") {
		t.Errorf("said %q", said)
	}
}

// A job that fails says which it is: nobody asked just now.
func TestFailingJobSaysWhichItIs(t *testing.T) {
	w := jobWorld(t, Limits{Run: 1, Job: 7})
	w.turn.Message.Text = "Summarise the `news` of today."
	w.script(map[string][]string{rolePlanner: {"{no plan"}})
	w.run()
	if said := w.journal.texts(); len(said) != 1 || !strings.HasPrefix(said[0], "Job 7 (`Summarise the 'news' of today.`): I could not work out a valid plan") {
		t.Errorf("said %q", said)
	}
}

func TestSilentTurnFailsWithoutAWord(t *testing.T) {
	w := jobWorld(t, Limits{Silent: true})
	w.script(map[string][]string{rolePlanner: {"{no plan"}})
	w.run()
	if len(w.journal.texts()) != 0 || w.journal.end.State != "failed" || w.journal.end.Outcome != "invalid_plan" {
		t.Errorf("said %q, ended %+v", w.journal.texts(), w.journal.end)
	}
	over := newWorld(t)
	over.turn.Limits = Limits{Silent: true}
	over.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		return llm.Response{}, req.Reserve(llm.Quote{Most: 1})
	}
	over.journal.reserve = func(string, llm.Quote) (bool, error) { return false, &OverLimitError{Text: "too much"} }
	if over.run(); !slices.Equal(over.journal.texts(), []string{"too much"}) {
		t.Errorf("what is not tried again says %q", over.journal.texts())
	}
	for name, c := range map[string]struct {
		task Task
		says string // empty: nothing, as it is tried again
	}{
		"posted":               {toolTask("post", "a"), "Done: `use post`"},
		"a command that fails": {execTask("pay"), "Done: nothing"},
		"only looked":          {toolTask("look", "a"), ""},
		"refused":              {toolTask("fetch", "a"), ""},
	} {
		w := newWorld(t)
		w.turn.Limits = Limits{Silent: true, NoWeb: true}
		w.exec = func(context.Context, tools.Command) tools.Result { return tools.Result{End: tools.EndError} }
		w.script(map[string][]string{
			rolePlanner:  {planText(c.task, msgTask("tell")), "{no plan"},
			roleReviewer: {`{"status":"replan","reason":"another way","learn":null}`},
		})
		said := strings.Join(func() []string { w.run(); return w.journal.texts() }(), "\n")
		if w.journal.end.State != "failed" || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: says %q, ended %+v", name, said, w.journal.end)
		}
	}
}

func TestTermsNameModelAndTimeout(t *testing.T) {
	w := jobWorld(t, Limits{Model: "own", Timeout: time.Minute})
	w.turn.Session.Model = "session"
	w.script(map[string][]string{rolePlanner: {planText(answerTask("done"))}})
	w.run()
	if !slices.Equal(w.models, []string{"own"}) {
		t.Errorf("asked %q", w.models)
	}
	late := newWorld(t)
	late.turn.Limits = Limits{Timeout: time.Minute}
	late.turn.StartedAt = late.turn.StartedAt.Add(-2 * time.Minute)
	if late.run(); late.journal.end.Outcome != "timeout" {
		t.Errorf("ended %+v", late.journal.end)
	}
}

// What a job asks for that was made after text from elsewhere was read names no address.
func TestTaintedJobHasNoWordsOfItsPerson(t *testing.T) {
	for taint, want := range map[tools.Taint]string{tools.Clean: "see https://a.example", "web": ""} {
		w := newWorld(t)
		w.turn.Limits, w.turn.Message.Text, w.turn.Message.Taint = Limits{Run: 1}, "see https://a.example", taint
		w.script(map[string][]string{rolePlanner: {planText(toolTask("fetch", "https://a.example"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
		w.run()
		i := slices.IndexFunc(w.gated, func(q tools.Question) bool { return q.Sends == "https://a.example" })
		if i < 0 || w.gated[i].Words != want {
			t.Errorf("taint %q: asked %+v", taint, w.gated)
		}
	}
}

// What a job was made under counts in its runs: nothing goes outside, and nobody is asked.
func TestTaintedJobActsNotOutside(t *testing.T) {
	for taint, want := range map[tools.Taint]tools.End{tools.Clean: tools.EndOK, tools.Others: tools.EndRefused} {
		t.Run(string(taint), func(t *testing.T) {
			w := jobWorld(t, Limits{NoApprovals: true, NoQuestions: true, Run: 3})
			w.turn.Message.Taint = taint
			w.decide = func(q tools.Question) tools.Decision {
				if q.Effect == tools.EffectOutside && q.Taint != tools.Clean {
					return tools.Decision{Verdict: tools.Ask, Rule: "taint.outside"}
				}
				return tools.Decision{Verdict: tools.Allow, Rule: "test"}
			}
			w.script(map[string][]string{
				rolePlanner:  {planText(toolTask("post", "a"), msgTask("tell"))},
				roleReviewer: {okText()}, roleWorker: {"it is so"},
			})
			w.run()
			result := w.journal.plans[0].Tasks[0].Result
			if result.End != want || len(w.journal.asks) != 0 || (want == tools.EndOK) != (len(w.ran) == 1) {
				t.Errorf("%+v, ran %q, asked %+v", result, w.ran, w.journal.asks)
			}
		})
	}
}
