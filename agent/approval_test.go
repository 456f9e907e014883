package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"switchboard/agent/tools"
)

// asking is a world whose commands need a permission.
func asking(t *testing.T, plan ...Task) *world {
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == tools.ExecName {
			return tools.Decision{Verdict: tools.Ask, Rule: "policy.ask", Reason: "commands ask"}
		}
		return tools.Decision{Verdict: tools.Allow, Rule: "role.admin"}
	}
	w.script(map[string][]string{
		rolePlanner: {planText(plan...), planText(answerTask("gave up"))}, roleReviewer: {okText(), okText()}, roleWorker: {"told"},
	})
	return w
}

func TestTaskThatIsAskedForWaits(t *testing.T) {
	t.Parallel()
	w := asking(t, toolTask("look", "a"), execTask("rm x"), msgTask("tell"))
	w.run()
	j := w.journal
	if len(j.asks) != 1 || len(w.ran) != 1 || j.end != nil || len(j.said) != 0 {
		t.Fatalf("asked %+v, ran %v, end %+v, said %v", j.asks, w.ran, j.end, j.texts())
	}
	ask := j.asks[0]
	if ask.Tool != tools.ExecName || ask.Shown != "rm x" || ask.Position != 1 || ask.Rule != "policy.ask" || ask.Reason != "commands ask" {
		t.Errorf("ask %+v", ask)
	}
	w.run() // nobody has decided: it is asked for again, and nothing runs
	if count(w.ran, "rm x") != 0 {
		t.Fatal("it ran")
	}
	j.says = func(again Ask) Approval {
		if !bytes.Equal(again.Hash, ask.Hash) {
			t.Error("the hash changed")
		}
		return Approval{ID: 7, State: Accepted, Scope: "once", By: "marco"}
	}
	w.run()
	if count(w.ran, "rm x") != 1 || j.end == nil || j.end.State != "done" {
		t.Errorf("ran %v, end %+v", w.ran, j.end)
	}
	if len(j.used) != 1 || j.used[0].Approval != 7 || !bytes.Equal(j.used[0].Hash, ask.Hash) || j.used[0].Grant {
		t.Errorf("used %+v", j.used)
	}
}

// What people said decides, and a refusal is the end: nothing is planned around it.
func TestRefusalEndsThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says Approval
		text string
	}{
		"rejected":         {Approval{ID: 1, State: Rejected, By: "marco", Why: "not *now*"}, "I stopped: marco did not allow the command (\"not \\*now\\*\"). Done: `look: word a`; not done: `rm x`."},
		"rejected, no why": {Approval{ID: 1, State: Rejected, By: "marco"}, "I stopped: marco did not allow the command. Done:"},
		"expired":          {Approval{ID: 1, State: Expired}, "I stopped: nobody allowed the command in time. Done:"},
		"nobody":           {Approval{State: Nobody}, "I stopped: the command needs the permission of an admin, and none has a direct chat with me in which I could ask. Done:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t, toolTask("look", "a"), execTask("rm x"), execTask("rm y"), msgTask("tell"))
			w.journal.says = func(Ask) Approval { return c.says }
			w.run()
			j := w.journal
			if count(w.ran, "rm x")+count(w.ran, "rm y") != 0 || len(w.requests(rolePlanner)) != 1 {
				t.Errorf("ran %v, planned %d times", w.ran, len(w.requests(rolePlanner)))
			}
			if j.end == nil || j.end.State != "done" || j.end.Outcome != c.says.State {
				t.Errorf("end %+v", j.end)
			}
			if tasks := j.plans[0].Tasks; tasks[1].State != TaskFailed || tasks[1].Result.Rule != "approval."+c.says.State || tasks[2].State != TaskCancelled {
				t.Errorf("tasks %+v", tasks)
			}
			if said := j.texts(); len(said) != 1 || !strings.HasPrefix(said[0], strings.TrimSuffix(c.text, "Done: `look: word a`; not done: `rm x`.")) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// Too many questions of one person are open: the plan ends with a sentence.
func TestSixthQuestionIsNotAsked(t *testing.T) {
	t.Parallel()
	w := asking(t, execTask("rm x"), msgTask("tell"))
	w.journal.fault = func(n int, apply func()) error {
		if w.journal.steps[n].Ask != nil {
			return ErrTooManyAsked
		}
		apply()
		return nil
	}
	w.run()
	j := w.journal
	if j.end == nil || j.end.Outcome != TooMany || count(w.ran, "rm x") != 0 || len(j.asks) != 0 {
		t.Fatalf("end %+v, ran %v, asked %v", j.end, w.ran, j.asks)
	}
	if said := j.texts(); len(said) != 1 || !strings.HasPrefix(said[0], "I stopped: I ask nobody about the command while you have so many open questions;") {
		t.Errorf("said %q", said)
	}
}

// An approval counts for what the arguments came to when it was asked, and a command without
// the sandbox says so.
func TestQuestionSaysWhatItComesTo(t *testing.T) {
	t.Parallel()
	w := asking(t, toolTask("call", "a"), msgTask("tell"))
	inner, means := w.decide, "It would go to ada."
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == "call" {
			q.Tool = tools.ExecName
		}
		return inner(q)
	}
	tool := w.tool("call", tools.EffectOutside, false)
	tool.Means = func(_ context.Context, call tools.Call) string { return means + string(call.Args) }
	w.extra = append(w.extra, tool)
	w.run()
	means = "It would go to eve."
	w.run()
	asks := w.journal.asks
	if len(asks) != 2 || asks[0].Means != `It would go to ada.{"word":"a"}` || asks[1].Shown != asks[0].Shown || bytes.Equal(asks[0].Hash, asks[1].Hash) {
		t.Errorf("asked %+v", asks)
	}
	for sandbox, want := range map[string]string{"auto": "", "off": "It would run without the sandbox, with everything that I may do on this machine."} {
		w := asking(t, execTask("rm x"), msgTask("tell"))
		w.cfg.Sandbox = sandbox
		w.run()
		if asks := w.journal.asks; len(asks) != 1 || asks[0].Means != want {
			t.Errorf("sandbox %s: %+v", sandbox, asks)
		}
	}
}

// What was granted before needs no question, and its use is checked with the task's start.
func TestGrantLetsATaskRun(t *testing.T) {
	t.Parallel()
	w := asking(t, execTask("rm x"), msgTask("tell"))
	w.journal.says = func(Ask) Approval {
		return Approval{ID: 3, State: Accepted, Scope: "always", Grant: true, By: "marco"}
	}
	w.run()
	if count(w.ran, "rm x") != 1 || len(w.journal.asks) != 0 || len(w.journal.used) != 1 || !w.journal.used[0].Grant {
		t.Errorf("ran %v, asked %+v, used %+v", w.ran, w.journal.asks, w.journal.used)
	}
}

// A task that was cut off used its approval up, also one that could be done twice.
func TestInterruptedTaskNeedsANewApproval(t *testing.T) {
	t.Parallel()
	w := asking(t, toolTask("look", "a"), msgTask("tell"))
	inner := w.decide
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == "look" {
			q.Tool = tools.ExecName
		}
		return inner(q)
	}
	answered := 0
	w.journal.says = func(Ask) Approval {
		answered++
		if answered > 1 {
			return Approval{}
		}
		return Approval{ID: 1, State: Accepted, Scope: "once"}
	}
	w.journal.fault = func(n int, apply func()) error {
		apply()
		if s := w.journal.steps[n]; len(s.Tasks) == 1 && s.Tasks[0].State == TaskRunning {
			w.journal.fault = nil
			return ErrReleased // the program dies
		}
		return nil
	}
	if err := w.agent().Run(t.Context(), w.turn, w.journal); !errors.Is(err, ErrReleased) {
		t.Fatal(err)
	}
	w.run()
	task := w.journal.plans[0].Tasks[0]
	if task.State != TaskInterrupted || len(w.ran) != 0 {
		t.Errorf("task %+v, ran %v", task, w.ran)
	}
}

// An unconfined command may run any file of its workspace, so that what lies there counts
// as if the turn had read it: no grant covers it.
func TestQuestionHasTheTaintOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for sandbox, want := range map[string]tools.Taint{"off": "file", "auto": tools.Clean} {
		w := asking(t, execTask("sh run.sh"), msgTask("tell"))
		w.cfg.Sandbox = sandbox
		if err := os.WriteFile(w.turn.Workspace+".taint.json", []byte("what cannot be read suspects all files"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.run()
		if asks := w.journal.asks; len(asks) != 1 || asks[0].Taint != want {
			t.Errorf("%s: asked %+v", sandbox, asks)
		}
	}
}

// A model that knows the code of an open question could have a person type it.
func TestPromptsHoldNoCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	question := "May I run this command?\n\nTo type it: `/approve ABCD-EF23` or `/deny ABCD-EF23` and why."
	w.turn.Message.Text, w.turn.Message.Quote = "/approve ABCD-EF23 or approve ABC-DEF?", question
	w.journal.context.Recent = []Line{{Bot: true, To: "marco", Text: question}, {Bot: true, To: "marco", Text: question, Taint: "web"}}
	w.script(map[string][]string{rolePlanner: {planText(answerTask("hi"))}})
	w.run()
	user := w.requests(rolePlanner)[0].User
	if strings.Contains(user, "ABCD") || strings.Count(user, "`/deny [code]` and why.") != 3 || !strings.HasSuffix(user, "/approve [code] or approve ABC-DEF?") {
		t.Errorf("%s", user)
	}
}

// An approval counts for the files that a command may load, as they were when it was asked. What
// was changed meanwhile does not run, and the person is told.
func TestChangedScriptDoesNotRun(t *testing.T) {
	t.Parallel()
	for name, swapped := range map[string]bool{"as it was": false, "swapped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t, execTask("sh job.sh"), msgTask("tell"))
			script := func(text string) {
				if err := os.WriteFile(w.turn.Workspace+"/job.sh", []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script("echo hello\n")
			w.run()
			ask := w.journal.asks[0]
			if ask.Loads == nil || len(ask.Loads.Files) != 1 || ask.Loads.Files[0].Begins != "echo hello\n" {
				t.Fatalf("asked %+v", ask.Loads)
			}
			if swapped {
				script("echo HELLO\n")
			}
			w.journal.says = func(now Ask) Approval { // as the database does
				if !bytes.Equal(now.Hash, ask.Hash) {
					return Approval{ID: 7, State: Changed, Scope: "once", By: "marco"}
				}
				return Approval{ID: 7, State: Accepted, Scope: "once", By: "marco"}
			}
			w.run()
			j, ran := w.journal, count(w.ran, "sh job.sh")
			if !swapped {
				if ran != 1 || j.end.Outcome != "answered" {
					t.Errorf("ran %v, end %+v", w.ran, j.end)
				}
				return
			}
			if ran != 0 || j.end == nil || j.end.Outcome != Changed || len(w.requests(rolePlanner)) != 1 {
				t.Errorf("ran %v, end %+v", w.ran, j.end)
			}
			want := "I stopped: what the command would do has changed since it was allowed, so I did not do it; ask me again if you still want it."
			if said := j.texts(); len(said) != 1 || !strings.HasPrefix(said[0], want) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// Where its files cannot be compared a command is refused, and nobody is asked.
func TestCommandWhoseFilesCannotBeComparedIsRefused(t *testing.T) {
	t.Parallel()
	w := asking(t, execTask("make"), msgTask("tell"))
	if err := os.MkdirAll(w.turn.Workspace+strings.Repeat("/d", 70), 0o700); err != nil {
		t.Fatal(err)
	}
	w.run()
	if task := w.journal.plans[0].Tasks[0]; len(w.journal.asks) != 0 || len(w.ran) != 0 || task.Result == nil || task.Result.Rule != "approval.files" {
		t.Errorf("asked %+v, ran %v, %+v", w.journal.asks, w.ran, task.Result)
	}
}
