package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

func TestReplanNeedsAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{
		rolePlanner:  {planText(execTask("a"), msgTask("tell")), planText(answerTask("I could not."))},
		roleReviewer: {`{"status":"replan","reason":null,"learn":null}`, replanText("  "), `{"status":"replan","reason":"","learn":null}`, replanText("")},
	})
	w.run()
	w.wantTexts("I could not.")
	w.wantEnd("done", "not_reached")
	asked := w.requests(roleReviewer)
	if len(asked) != 4 || strings.Contains(asked[0].User, "## Faults") || !strings.Contains(asked[3].User, "## Faults in your last verdict\n1. field reason: missing") {
		t.Errorf("asked %d times, last:\n%s", len(asked), asked[len(asked)-1].User)
	}
	// Words alone do not show that the goal was reached.
	if w.journal.said[0].Final {
		t.Error("final although the only reviewed task failed")
	}
}

func TestUnreadableReviewEndsLoudly(t *testing.T) {
	t.Parallel()
	for _, garbage := range []string{"fine!", `{"status":"great","reason":null,"learn":null}`, ""} {
		w := newWorld(t)
		w.script(map[string][]string{rolePlanner: {planText(execTask("a"), msgTask("tell"))}, roleReviewer: {garbage}})
		w.run()
		w.wantEnd("failed", "invalid_review")
		if len(w.requests(roleReviewer)) != 4 {
			t.Errorf("asked %d times", len(w.requests(roleReviewer)))
		}
	}
}

func TestEveryActIsReviewed(t *testing.T) {
	t.Parallel()
	ends := []tools.End{tools.EndOK, tools.EndError, tools.EndRefused, tools.EndTimeout}
	w := newWorld(t)
	var tasks []Task
	for _, end := range ends {
		tasks = append(tasks, execTask(string(end)))
	}
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result { return tools.Result{End: tools.End(cmd.Line)} }
	w.script(map[string][]string{rolePlanner: {planText(append(tasks, msgTask("tell"))...)}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.run()
	for i, end := range ends {
		if got := w.journal.plans[0].Tasks[i]; got.Review == nil || (got.State == TaskDone) != (end == tools.EndOK) {
			t.Errorf("%s: %+v", end, got)
		}
	}
}

func TestReplansEndAtTheirLimits(t *testing.T) {
	t.Parallel()
	reasons := []string{"disk missing everywhere", "network unreachable today", "permission denied again", "syntax broken inside"}
	for _, tc := range []struct {
		name    string
		plan    func(attempt int) string
		reason  func(attempt int) string
		outcome string
		plans   int
	}{
		{
			"depth",
			func(n int) string { return planText(execTask(fmt.Sprint("try ", n)), msgTask("tell")) },
			func(n int) string { return reasons[n] },
			"replan_limit", 4,
		},
		{
			"same tasks",
			func(n int) string { return planText(execTask("make  all"), msgTask(fmt.Sprint("tell ", n))) },
			func(n int) string { return reasons[n] },
			"repeated_strategy", 2,
		},
		{
			"same reason",
			func(n int) string { return planText(execTask(fmt.Sprint("try ", n)), msgTask("tell")) },
			func(n int) string { return fmt.Sprintf("The file report%d was not found here!", n) },
			"repeated_strategy", 2,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			plans, reviews := 0, 0
			w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
				if req.Role == rolePlanner {
					plans++
					return llm.Response{Text: tc.plan(plans - 1)}, nil
				}
				reviews++
				return llm.Response{Text: replanText(tc.reason(reviews - 1))}, nil
			}
			w.run()
			w.wantEnd("failed", tc.outcome)
			if len(w.journal.plans) != tc.plans {
				t.Errorf("%d plans, want %d", len(w.journal.plans), tc.plans)
			}
			last := w.journal.said[len(w.journal.said)-1]
			if last.Final || !last.Notice || !strings.HasPrefix(last.Text, "I did not get this done: reach it\n\nWhat I tried:\n- `") ||
				!strings.Contains(last.Text, "failed: "+strings.TrimRight(tc.reason(0), "!")+"\n") {
				t.Errorf("said %+v", last)
			}
			for _, plan := range w.journal.plans {
				if got := plan.Tasks[1].State; got != TaskCancelled {
					t.Errorf("a remaining task is %s", got)
				}
			}
		})
	}
}

func TestOutputsAreKeptWhateverIsInTheirPlace(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, prepare := range map[string]func(t *testing.T, folder string){
		"nothing there": func(*testing.T, string) {},
		"a link out":    func(t *testing.T, folder string) { must(t, os.Symlink(outside, folder)) },
		"a file":        func(t *testing.T, folder string) { must(t, os.WriteFile(folder, nil, 0o600)) },
		"a folder in its place": func(t *testing.T, folder string) {
			must(t, os.MkdirAll(filepath.Join(folder, outputsFile, "full", "of"), 0o700))
		},
		"closed": func(t *testing.T, folder string) {
			must(t, os.MkdirAll(filepath.Join(folder, "closed"), 0o700))
			must(t, os.Chmod(filepath.Join(folder, "closed"), 0))
			must(t, os.Chmod(folder, 0))
			must(t, os.Chmod(filepath.Dir(folder), 0))
		},
		"a pipe": func(t *testing.T, folder string) {
			must(t, os.Mkdir(folder, 0o700))
			must(t, syscall.Mkfifo(filepath.Join(folder, outputsFile), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(t, filepath.Join(w.turn.Workspace, ".switchboard"))
			w.script(map[string][]string{rolePlanner: {planText(execTask("one"), msgTask("say"), execTask("two"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"written"}})
			var got []earlier
			w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
				file := filepath.Join(w.turn.Workspace, ".switchboard", outputsFile)
				body, err := os.ReadFile(file)
				must(t, err)
				must(t, json.Unmarshal(body, &got))
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", info, err)
				}
				return tools.Result{End: tools.EndOK, Output: "from " + cmd.Line}
			}
			w.run()
			want := []earlier{
				{Attempt: 1, Task: 1, Type: TaskExec, Detail: "one", State: TaskDone, Output: "from one"},
				{Attempt: 1, Task: 2, Type: TaskMsg, Detail: "say", State: TaskDone, Output: "written"},
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("outputs %+v", got)
			}
			if list, _ := os.ReadDir(outside); len(list) > 0 {
				t.Errorf("wrote outside the workspace: %v", list)
			}
		})
	}
}

// A long output is a file that the person can ask for, as tainted as the output.
func TestLongOutputIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("a line\n", 10_000)
	w.script(map[string][]string{rolePlanner: {planText(execTask("one"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.exec = func(context.Context, tools.Command) tools.Result {
		return tools.Result{End: tools.EndOK, Output: long, Taint: "web"}
	}
	w.run()
	name := fmt.Sprintf("outputs/turn-%d-1-1.txt", w.turn.ID)
	if text, err := os.ReadFile(filepath.Join(w.turn.Workspace, name)); err != nil || string(text) != long {
		t.Errorf("%d bytes are kept, %v", len(text), err)
	}
	if ledger, err := os.ReadFile(w.turn.Workspace + ".taint.json"); err != nil || !strings.Contains(string(ledger), name) {
		t.Errorf("the ledger is %s, %v", ledger, err)
	}
	if got := w.journal.plans[0].Tasks[0].Result; !strings.Contains(got.Hint, name) {
		t.Errorf("the hint is %q", got.Hint)
	}
}

func TestUnwritableWorkspaceIsAResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Workspace = filepath.Join(w.turn.Workspace, "gone")
	w.script(map[string][]string{rolePlanner: {planText(execTask("one"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.run()
	if got := w.journal.plans[0].Tasks[0]; got.State != TaskFailed || got.Result.Code != "workspace" || len(w.ran) > 0 {
		t.Errorf("task %+v, ran %q", got, w.ran)
	}
}

func TestEmptyWorkerAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answers []string
		outcome string
	}{{[]string{" ", "now"}, "answered"}, {[]string{""}, "model_error"}} {
		w := newWorld(t)
		w.script(map[string][]string{rolePlanner: {planText(msgTask("tell"))}, roleWorker: tc.answers})
		w.run()
		if len(w.requests(roleWorker)) != 2 || w.journal.end.Outcome != tc.outcome || len(w.journal.said) != 1 {
			t.Errorf("%q: asked %d times, ended %+v, said %q", tc.answers, len(w.requests(roleWorker)), *w.journal.end, w.journal.texts())
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
