package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

var later = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)

// more is a message of the person that may be merged into the turn.
func more(id int64, text string) Incoming {
	return Incoming{ID: id, Text: text, Author: "marco", At: later}
}

// steered answers the planner by the longest of the words that its prompt holds;
// the rest is always well.
func steered(w *world, plans map[string]string) {
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		text := "It is done."
		switch req.Role {
		case roleReviewer:
			text = okText()
		case rolePlanner:
			longest := ""
			for word := range plans {
				if len(word) > len(longest) && strings.Contains(req.User, word) {
					longest = word
				}
			}
			text = plans[longest]
		}
		return llm.Response{Text: text, Finish: "stop"}, nil
	}
}

func TestAddedAfterATaskReplansTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Message.At = later.Add(-time.Minute)
	steered(w, map[string]string{
		"":        planText(execTask("first"), msgTask("between"), execTask("never"), msgTask("tell")),
		"TEATIME": planText(execTask("second"), msgTask("tell it")),
	})
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "first" {
			w.journal.send(more(12, "TEATIME\n## Task\nplease"))
		}
		return tools.Result{End: tools.EndOK, Output: "output of " + cmd.Line}
	}
	w.run()
	w.wantEnd("done", "answered")
	w.wantTexts("It is done.") // no word of a failure
	if !w.journal.said[0].Final {
		t.Error("the answer does not say that the goal was reached")
	}
	if want := []string{"first", "second"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
	states := []TaskState{}
	for _, task := range w.journal.plans[0].Tasks {
		states = append(states, task.State)
	}
	if want := []TaskState{TaskDone, TaskCancelled, TaskCancelled, TaskCancelled}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if len(w.journal.added) != 1 || w.journal.added[0].From != 1 {
		t.Errorf("added %+v", w.journal.added)
	}
	prompts := w.requests(rolePlanner)
	if strings.Contains(prompts[0].User, "## Added meanwhile") {
		t.Errorf("the first prompt has what was added later:\n%s", prompts[0].User)
	}
	for _, piece := range []string{
		"## Added meanwhile\n", "### 12:00:30 UTC\n- TEATIME\n  ## Task\n  please\n", "\n## New message\nhow much is it?",
		"(it was set aside, not failed", "output of first", "task 3 (exec): never",
	} {
		if !strings.Contains(prompts[1].User, piece) {
			t.Errorf("the second prompt has no %q:\n%s", piece, prompts[1].User)
		}
	}
	if strings.Contains(prompts[1].User, "## What failed") {
		t.Errorf("the planner was told of a failure:\n%s", prompts[1].User)
	}
	reviews := w.requests(roleReviewer)
	if strings.Contains(reviews[0].User, "TEATIME") || !strings.Contains(reviews[1].User, "how much is it?\nAdded meanwhile:\nTEATIME") {
		t.Errorf("the reviewers see\n%s\n%s", reviews[0].User, reviews[1].User)
	}
	for _, req := range w.requests(roleWorker) {
		if strings.Contains(req.User, "TEATIME") {
			t.Errorf("the worker sees the conversation:\n%s", req.User)
		}
	}
}

// What is added is asked for at every boundary, and never beside a ready answer.
func TestAddedIsAskedForAtEveryBoundary(t *testing.T) {
	t.Parallel()
	replanned := planText(execTask("second"), msgTask("tell it"))
	for name, tc := range map[string]struct {
		plan string
		role string // during whose call it arrives; empty: a command
		from int    // the attempt that heeds it; -1: it is left for a turn of its own
		ran  []string
	}{
		"while planning":          {planText(execTask("first"), msgTask("tell")), rolePlanner, 1, []string{"second"}},
		"beside a ready answer":   {planText(answerTask("So.")), rolePlanner, -1, nil},
		"before a written answer": {planText(msgTask("tell")), rolePlanner, 1, []string{"second"}},
		"during a command":        {planText(execTask("first"), msgTask("tell")), "", 1, []string{"first", "second"}},
		"during a review":         {planText(execTask("first"), msgTask("tell")), roleReviewer, 1, []string{"first", "second"}},
		"during a middle message": {planText(msgTask("between"), execTask("first"), msgTask("tell")), roleWorker, 1, []string{"second"}},
		"during the last message": {planText(execTask("first"), msgTask("tell")), roleWorker, -1, []string{"first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			steered(w, map[string]string{"": tc.plan, "ADDITION": replanned})
			script := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				if req.Role == tc.role {
					w.journal.send(more(12, "ADDITION"))
				}
				return script(ctx, model, req)
			}
			w.exec = func(context.Context, tools.Command) tools.Result {
				if tc.role == "" {
					w.journal.send(more(12, "ADDITION"))
				}
				return tools.Result{End: tools.EndOK}
			}
			w.run()
			w.wantEnd("done", "answered")
			if !slices.Equal(w.ran, tc.ran) {
				t.Errorf("ran %q, want %q", w.ran, tc.ran)
			}
			from := -1
			if len(w.journal.added) > 0 {
				from = w.journal.added[0].From
			}
			if from != tc.from {
				t.Errorf("heeded from attempt %d, want %d", from, tc.from)
			}
			if strings.Contains(tc.plan, "So.") && w.journal.asked > 0 {
				t.Error("asked for additions beside a ready answer")
			}
		})
	}
}

// An addition is no failure: it uses up none of the plans that failures may take.
func TestAddedCostsNoReplan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.MaxReplanDepth = 1
	tries := 0
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		text := "told"
		switch req.Role {
		case rolePlanner:
			tries++
			text = planText(execTask(fmt.Sprintf("try %d", tries)), msgTask("tell"))
		case roleReviewer:
			text = okText()
			if strings.Contains(req.User, "Command: try 3") {
				text = replanText("the disk is full")
			}
		}
		return llm.Response{Text: text, Finish: "stop"}, nil
	}
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		if n := cmd.Line; n == "try 1" || n == "try 2" {
			w.journal.send(more(int64(len(w.ran))+20, "more"))
		}
		return tools.Result{End: tools.EndOK}
	}
	w.run()
	w.wantTexts("told")
	w.wantEnd("done", "answered")
	if last := w.requests(rolePlanner)[3].User; !strings.Contains(last, "## What failed") {
		t.Errorf("the planner was not told of the failure:\n%s", last)
	}
}

// The same plan as the one that was set aside is no repeated failure.
func TestAddedMayChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{rolePlanner: {planText(execTask("ls"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	script := w.answer
	w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
		if req.Role == rolePlanner {
			w.journal.send(more(12, "thanks"))
		}
		return script(ctx, model, req)
	}
	w.run()
	w.wantEnd("done", "answered")
	w.wantTexts("told")
}

func TestAddedIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.MaxLLMCalls = 1000
	n := 0
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		text := "told"
		switch req.Role {
		case rolePlanner:
			n++
			w.journal.send(more(int64(100+n), "and more"))
			text = planText(execTask(fmt.Sprintf("try %d", n)), msgTask("tell"))
		case roleReviewer:
			text = okText()
		}
		return llm.Response{Text: text, Finish: "stop"}, nil
	}
	w.run()
	w.wantEnd("done", "answered")
	if len(w.journal.added) != maxAdded || len(w.journal.waiting) != 1 {
		t.Errorf("merged %d, left %d; want %d and 1", len(w.journal.added), len(w.journal.waiting), maxAdded)
	}
}

func TestAddedOutsideTextTaintsTheTurn(t *testing.T) {
	t.Parallel()
	forwarded := more(12, "")
	forwarded.Passed = []Passed{{Text: "OUTTEXT obey"}}
	attached := more(13, "see the file")
	attached.Attachments = []Attachment{{ID: "5", Kind: "document", Name: "OUTNAME.txt", Type: "text/plain"}}
	quoting := more(14, "what he says")
	quoting.Quote = "OUTQUOTE"
	for want, m := range map[tools.Taint]Incoming{"forwarded": forwarded, "file": attached, "quote": quoting} {
		w := newWorld(t)
		steered(w, map[string]string{"": planText(execTask("first"), msgTask("tell")), "Added meanwhile": planText(toolTask("look", "x"), msgTask("tell"))})
		w.exec = func(context.Context, tools.Command) tools.Result {
			w.journal.send(m)
			return tools.Result{End: tools.EndOK}
		}
		w.run()
		if got := w.journal.said[0].Taint; got != want {
			t.Errorf("said with taint %q, want %q", got, want)
		}
		w.gated = slices.DeleteFunc(w.gated, func(q tools.Question) bool { return q.Tool == "" })
		if last := w.gated[len(w.gated)-1]; last.Tool != "look" || last.Taint != want {
			t.Errorf("the gate was asked %+v", last)
		}
		open, _ := outsideOf(t, w.requests(rolePlanner)[1].User)
		if strings.Contains(open, "OUT") {
			t.Errorf("outside text stands outside of a fence:\n%s", open)
		}
	}
}

func TestEditWhileItRunsReplansWithTheNewText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steered(w, map[string]string{
		"":               planText(execTask("first"), msgTask("tell")),
		"how many":       planText(execTask("second"), msgTask("tell it")),
		"how much again": planText(execTask("third"), msgTask("tell it")),
	})
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		switch cmd.Line {
		case "first":
			w.journal.send(Incoming{ID: 21, Text: "how many are there?", Author: "marco", At: later, Replaces: 11})
			w.journal.send(more(22, "ADDED"))
		case "second":
			w.journal.send(Incoming{ID: 23, Text: "how much again?", Author: "marco", At: later, Replaces: 21})
			w.journal.send(Incoming{ID: 24, Text: "CHANGED", Author: "marco", At: later, Replaces: 22})
			w.journal.send(Incoming{ID: 25, Text: "ELSE", Author: "marco", At: later, Replaces: 99})
		}
		return tools.Result{End: tools.EndOK}
	}
	w.run()
	w.wantEnd("done", "answered")
	if want := []string{"first", "second", "third"}; !slices.Equal(w.ran, want) {
		t.Fatalf("ran %q, want %q", w.ran, want)
	}
	second, third := w.requests(rolePlanner)[1].User, w.requests(rolePlanner)[2].User
	for prompt, pieces := range map[string][]string{
		second: {"Before, it read:\n- how much is it?\n", "### 12:00:30 UTC\n- ADDED\n", "\n## New message\nhow many are there?"},
		third: {
			"Before, it read:\n- how many are there?\n", "### 12:00:30 UTC, changed since\n- CHANGED\n",
			"the new text of a message that they changed\n- ELSE\n", "\n## New message\nhow much again?",
		},
	} {
		for _, piece := range pieces {
			if !strings.Contains(prompt, piece) {
				t.Errorf("the prompt has no %q:\n%s", piece, prompt)
			}
		}
	}
	if strings.Contains(third, "ADDED") {
		t.Errorf("the former text of an addition is still there:\n%s", third)
	}
	if request := w.requests(roleReviewer)[2].User; !strings.Contains(request, "## The person's request\nhow much again?\nAdded meanwhile:\nCHANGED\n") {
		t.Errorf("the reviewer sees\n%s", request)
	}
}

func TestSecretInAnAdditionIsRedactedAndEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steered(w, map[string]string{
		"":        planText(execTask("first"), msgTask("tell")),
		"hunter2": `{"goal":"log in","secrets":[{"key":"pw","value":"hunter2"}],"tasks":[]}`,
	})
	w.exec = func(context.Context, tools.Command) tools.Result {
		w.journal.send(more(12, "the password is hunter2"))
		return tools.Result{End: tools.EndOK}
	}
	w.run()
	w.wantEnd("failed", "not_available")
	if last := w.journal.steps[len(w.journal.steps)-1]; !slices.Equal(last.Redact, []string{"hunter2"}) {
		t.Errorf("redacted %q", last.Redact)
	}
}

// restarted runs the turn as the router does: again, in a fresh context, when Run
// says so.
func (w *world) restarted() error {
	for {
		ctx, cancel := context.WithCancelCause(context.Background())
		w.stop = cancel
		err := w.agent().Run(ctx, w.turn, w.journal)
		cancel(nil)
		if err != ErrRestart { //nolint:errorlint // the very value is promised
			return err
		}
	}
}

func TestRestartForAnEditKeepsFinishedTasks(t *testing.T) {
	t.Parallel()
	edit := Incoming{ID: 21, Text: "rather EDITED", Author: "marco", At: later, Replaces: 11}
	for name, role := range map[string]string{
		"during a command": "", "during planning": rolePlanner, "during a review": roleReviewer, "during the last message": roleWorker,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			steered(w, map[string]string{
				"":       planText(execTask("first"), execTask("slow"), msgTask("tell")),
				"EDITED": planText(execTask("other"), msgTask("tell it")),
			})
			once := true
			change := func() {
				once = false
				w.journal.send(edit)
				w.stop(ErrRestart)
			}
			script := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				if req.Role == role && (role != roleReviewer || strings.Contains(req.User, "slow")) && once {
					change()
					return llm.Response{}, fmt.Errorf("ask: %w", context.Cause(ctx))
				}
				return script(ctx, model, req)
			}
			w.exec = func(ctx context.Context, cmd tools.Command) tools.Result {
				if cmd.Line == "slow" && role == "" {
					change()
					return tools.Result{End: tools.EndCancelled, Code: "killed", Output: "so far"}
				}
				return tools.Result{End: tools.EndOK, Output: "output of " + cmd.Line}
			}
			if err := w.restarted(); err != nil {
				t.Fatal(err)
			}
			w.wantEnd("done", "answered")
			w.wantTexts("It is done.")
			want := []string{"first", "slow", "other"}
			if role == rolePlanner {
				want = []string{"other"}
			}
			if !slices.Equal(w.ran, want) {
				t.Errorf("ran %q, want %q", w.ran, want)
			}
			prompts := w.requests(rolePlanner)
			last := prompts[len(prompts)-1].User
			if !strings.HasSuffix(last, "## New message\nrather EDITED") {
				t.Errorf("the planner sees\n%s", last)
			}
			if role == "" {
				got := w.journal.plans[0].Tasks[1]
				if got.State != TaskCancelled || got.Result == nil || got.Result.Hint != changedHint || got.Review != nil {
					t.Errorf("the task broken off is %+v, %+v", got, got.Result)
				}
				for _, piece := range []string{"## What was stopped", "Hint: " + changedHint, "so far", "`slow`: broken off", "`first`: ok"} {
					if !strings.Contains(last, piece) {
						t.Errorf("the planner's prompt has no %q:\n%s", piece, last)
					}
				}
			}
		})
	}
}

// A restart for which nothing is there to be merged plans anew all the same.
func TestRestartWithNothingToMergePlansAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{
		rolePlanner:  {planText(execTask("slow"), msgTask("tell")), planText(execTask("other"), msgTask("tell"))},
		roleReviewer: {okText()}, roleWorker: {"told"},
	})
	w.exec = func(ctx context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "slow" {
			w.stop(ErrRestart)
			return tools.Result{End: tools.EndCancelled}
		}
		return tools.Result{End: tools.EndOK}
	}
	if err := w.restarted(); err != nil {
		t.Fatal(err)
	}
	w.wantEnd("done", "answered")
	w.wantTexts("told")
}

// A restart asked for before anything was done merges the change before it returns.
func TestRestartBeforeAnythingWasDoneMergesTheChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steered(w, map[string]string{"": planText(answerTask("old")), "EDITED": planText(answerTask("new"))})
	w.journal.send(Incoming{ID: 21, Text: "EDITED", Author: "marco", Replaces: 11})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrRestart)
	if err := w.agent().Run(ctx, w.turn, w.journal); !errors.Is(err, ErrRestart) {
		t.Fatalf("Run returned %v", err)
	}
	if len(w.journal.added) != 1 || w.journal.added[0].From != 0 {
		t.Fatalf("added %+v", w.journal.added)
	}
	w.run()
	w.wantTexts("new")
}

func TestInterruptDuringACommandEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steered(w, map[string]string{"": planText(execTask("first"), execTask("slow"), msgTask("tell"))})
	ctx, cancel := context.WithCancelCause(context.Background())
	w.exec = func(ctx context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "slow" {
			cancel(ErrInterrupted)
			<-ctx.Done()
			return tools.Result{End: tools.EndCancelled, Code: "killed"}
		}
		return tools.Result{End: tools.EndOK}
	}
	if err := w.agent().Run(ctx, w.turn, w.journal); err != nil {
		t.Fatal(err)
	}
	w.wantEnd("cancelled", "interrupted")
	w.wantTexts("Stopped for your newer message. Done: `first`; stopped midway: `slow`.")
}

func TestFailedAbsorbEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{ErrReleased, errors.New("disk full")} {
		w := newWorld(t)
		steered(w, map[string]string{"": planText(execTask("never"), msgTask("tell"))})
		w.journal.send(more(12, "more"))
		w.journal.fault = func(n int, apply func()) error {
			if n == 1 { // after the planner's answer
				return fault
			}
			apply()
			return nil
		}
		if err := w.agent().Run(context.Background(), w.turn, w.journal); !errors.Is(err, fault) {
			t.Errorf("Run returned %v, want %v", err, fault)
		}
		if len(w.ran) > 0 {
			t.Errorf("ran %q after the journal failed", w.ran)
		}
	}
}
