package agent

import (
	"context"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

func TestRightsAreAskedAgainAtRun(t *testing.T) {
	t.Parallel()
	for _, verdict := range []tools.Verdict{tools.Refuse, "nonsense"} {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			revoked := false
			w.decide = func(q tools.Question) tools.Decision {
				if q.Tool == tools.ExecName && revoked {
					return tools.Decision{Verdict: verdict, Rule: "person.tools", Reason: "taken away"}
				}
				return tools.Decision{Verdict: tools.Allow}
			}
			w.script(map[string][]string{rolePlanner: {planText(toolTask("look", "a"), execTask("rm"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
			w.extra = nil
			script := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				revoked = revoked || req.Role == roleReviewer
				return script(ctx, model, req)
			}
			w.run()
			if count(w.ran, "rm") != 0 {
				t.Fatal("a command ran after the right to it was taken away")
			}
			got := w.journal.plans[0].Tasks[1]
			if got.State != TaskFailed || got.Result.End != tools.EndRefused || got.Result.Rule != "person.tools" || !strings.HasPrefix(got.Result.Hint, "taken away") {
				t.Errorf("task %+v, result %+v", got, got.Result)
			}
			if review := w.requests(roleReviewer)[1].User; !strings.Contains(review, "Ended: refused (not_permitted)\nRule: person.tools\nHint: taken away") {
				t.Errorf("the reviewer was not told:\n%s", review)
			}
		})
	}
}

func TestWithheldToolsAreNotOffered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == "post" || q.Tool == tools.ExecName {
			return tools.Decision{Verdict: tools.Refuse, Rule: "channel.tools_deny", Reason: q.Tool + " is off here"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	w.script(map[string][]string{rolePlanner: {planText(answerTask("hi"))}})
	w.run()
	req := w.requests(rolePlanner)[0]
	for text, want := range map[string]bool{"\n- look(": true, "\n- fetch(": true, "\n- post(": false, "\n- exec:": false} {
		if strings.Contains(req.System, text) != want {
			t.Errorf("%q offered: %v, want %v", text, !want, want)
		}
	}
	if want := "- Withheld here:\n  - exec: exec is off here (rule channel.tools_deny)\n  - post: post is off here (rule channel.tools_deny)\n"; !strings.Contains(req.User, want) {
		t.Errorf("no %q in\n%s", want, req.User)
	}
	for _, q := range w.gated {
		if q.Person != "marco" || q.Channel != "console" || q.Mode != "act" {
			t.Fatalf("asked %+v", q)
		}
	}
}

func TestExecEffectFollowsRoleAndSandbox(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		role, sandbox string
		unconfined    bool
		want          tools.Effect
	}{
		{"admin", "auto", false, tools.EffectWrite},
		{"admin", "auto", true, tools.EffectOutside},
		{"admin", "off", false, tools.EffectOutside},
		{"user", "auto", true, tools.EffectWrite},
		{"user", "off", true, tools.EffectWrite},
	} {
		w := newWorld(t)
		w.turn.Person.Role, w.cfg.Sandbox, w.cfg.AdminUnconfined = tc.role, tc.sandbox, tc.unconfined
		if got := newRunFor(w).rights.execEffect(); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

func TestTaintAccruesAndIsInherited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Effect == tools.EffectOutside && q.Taint != tools.Clean {
			return tools.Decision{Verdict: tools.Ask, Rule: "taint.outside", Reason: "the turn read a page"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	w.script(map[string][]string{
		rolePlanner:  {planText(msgTask("before"), toolTask("fetch", "a"), execTask("wc"), toolTask("post", "a"), msgTask("tell"))},
		roleReviewer: {okText()}, roleWorker: {"text"},
	})
	var commandTaint tools.Taint
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		commandTaint = cmd.Taint
		return tools.Result{End: tools.EndOK}
	}
	w.run()
	if commandTaint == tools.Clean {
		t.Errorf("the command runs untainted: the files it writes would be clean")
	}
	if count(w.ran, `post{"word":"a"}`) != 0 {
		t.Error("a tainted turn had an effect outside")
	}
	if asks := w.journal.asks; len(asks) != 1 || asks[0].Taint == tools.Clean {
		t.Errorf("asked %+v", asks)
	}
	w.journal.says = func(Ask) Approval { return Approval{ID: 1, State: Accepted, Scope: "once"} }
	w.run()
	tasks := w.journal.plans[0].Tasks
	for i, want := range []bool{false, true, true, true, true} {
		if got := tasks[i].Result.Taint != tools.Clean; got != want {
			t.Errorf("task %d tainted: %v, want %v", i+1, got, want)
		}
		if review := tasks[i].Review; review != nil && review.Taint == tools.Clean {
			t.Errorf("the review of task %d is clean", i+1)
		}
	}
	if w.journal.said[0].Taint != tools.Clean || w.journal.said[1].Taint == tools.Clean {
		t.Errorf("said %+v", w.journal.said)
	}
}

// The gate is told which URL goes out and what the person wrote themselves: in this turn,
// added messages included, as they read now; nothing that was passed on or quoted, and
// nothing of earlier turns.
func TestGateSeesTheURLAndThePersonsOwnWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Message.Text, w.turn.Message.Quote, w.turn.Message.Passed = "OWN", "QUOTED", []Passed{{Text: "PASSED"}}
	w.journal.context.Recent = []Line{{Author: "marco", Text: "EARLIER"}}
	changed := more(10, "NOW")
	changed.Replaces = 9
	w.journal.added = []Added{{Incoming: more(9, "ADDED")}, {Incoming: changed}}
	w.script(map[string][]string{rolePlanner: {planText(toolTask("fetch", "http://sink/"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.run()
	var got tools.Question
	for _, q := range w.gated {
		if q.Sends == "http://sink/" {
			got = q
		}
	}
	if got.Tool != "fetch" || got.Words != "OWN\nNOW" {
		t.Errorf("the gate was asked %+v", got)
	}
}

func TestOutsideTextInTheContextTaintsTheTurn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"message":    func(w *world) { w.turn.Message.Taint = "forwarded" },
		"passed on":  func(w *world) { w.turn.Message.Passed = []Passed{{Text: "p"}} },
		"another":    func(w *world) { w.journal.context.Recent = []Line{{Text: "l", Author: "bob"}} },
		"to another": func(w *world) { w.journal.context.Recent = []Line{{Text: "l", Bot: true, To: "bob"}} },
		"quote":      func(w *world) { w.turn.Message.Quote = "said" },
		"attachment": func(w *world) { w.turn.Message.Attachments = []Attachment{{Name: "a"}} },
		"summary":    func(w *world) { w.turn.Session.Summary, w.turn.Session.SummaryTaint = "s", "web" },
		"recent":     func(w *world) { w.journal.context.Recent = []Line{{Text: "l", Bot: true, Taint: "web"}} },
		"resumed task": func(w *world) {
			w.journal.context.Plans = []PlanRow{{Tasks: []TaskRow{{Result: &tools.Result{Taint: "web"}}}}}
		},
	} {
		w := newWorld(t)
		w.journal.context.Recent = []Line{{Text: "a", Author: "marco"}, {Text: "b", Bot: true, To: "marco"}, {Text: "c", Bot: true}}
		if r := newRunFor(w); r.taint != tools.Clean {
			t.Fatalf("tainted by nothing: %s", r.taint)
		}
		if change(w); newRunFor(w).taint == tools.Clean {
			t.Errorf("%s does not taint the turn", name)
		}
	}
}

// The turn of somebody who is away waits where it is, and goes on there when they are back.
func TestTurnOfWhoIsAwayWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after string // the role that answers last before they are away; empty: they are from the first
		ran   int
	}{"before the plan": {"", 0}, "while it is planned": {rolePlanner, 0}, "before the second task": {roleReviewer, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			left, back := tc.after == "", false
			w.decide = func(tools.Question) tools.Decision {
				if left && !back {
					return tools.Decision{Verdict: tools.Refuse, Rule: tools.PersonAway, Reason: "marco is away"}
				}
				return tools.Decision{Verdict: tools.Allow}
			}
			w.script(map[string][]string{
				rolePlanner: {planText(toolTask("look", "a"), toolTask("look", "b"), msgTask("tell"))}, roleReviewer: {okText(), okText()}, roleWorker: {"told"},
			})
			script := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				left = left || tc.after == req.Role
				return script(ctx, model, req)
			}
			for range 2 { // it may be tried while they are away
				w.run()
				if w.journal.end != nil || w.journal.parked != OutcomePersonAway || len(w.ran) != tc.ran || len(w.journal.said) != 0 {
					t.Fatalf("parked as %q, ended %+v, ran %q, said %q", w.journal.parked, w.journal.end, w.ran, w.journal.texts())
				}
			}
			back = true
			w.run()
			if w.journal.end == nil || w.journal.end.State != "done" || len(w.ran) != 2 || len(w.requests(rolePlanner)) != 1 {
				t.Errorf("ended %+v, ran %q after %d plans", w.journal.end, w.ran, len(w.requests(rolePlanner)))
			}
		})
	}
}

// Nothing else is planned for them: what was not begun is cancelled, and they are told.
func TestPersonRemovedInMidTurnEndsIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tasks []Task
		after string // the role that answers last before they are removed; empty: they are removed before the first
		want  []TaskState
	}{
		"before the plan":     {nil, "", nil},
		"before a command":    {[]Task{toolTask("look", "a"), execTask("rm"), execTask("ls"), msgTask("tell")}, roleReviewer, []TaskState{TaskDone, TaskFailed, TaskCancelled, TaskCancelled}},
		"before a tool":       {[]Task{toolTask("look", "a"), toolTask("post", "a"), msgTask("tell")}, roleReviewer, []TaskState{TaskDone, TaskFailed, TaskCancelled}},
		"before the answer":   {[]Task{toolTask("look", "a"), msgTask("tell")}, roleReviewer, []TaskState{TaskDone, TaskFailed}},
		"while it is planned": {[]Task{answerTask("hi")}, rolePlanner, []TaskState{TaskFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			removed := tc.after == ""
			w.decide = func(q tools.Question) tools.Decision {
				planned := q.Tool == "" && len(w.requests(rolePlanner)) > 0
				if removed = removed || planned && tc.after == rolePlanner; removed {
					return tools.Decision{Verdict: tools.Refuse, Rule: "person.unknown", Reason: "marco is not somebody I know"}
				}
				return tools.Decision{Verdict: tools.Allow}
			}
			w.script(map[string][]string{rolePlanner: {planText(tc.tasks...)}, roleReviewer: {okText()}})
			script := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				removed = removed || tc.after == roleReviewer && req.Role == roleReviewer
				return script(ctx, model, req)
			}
			w.run()
			w.wantEnd("failed", "not_served")
			if len(w.ran) > 1 || len(w.requests(roleWorker)) > 0 || len(w.requests(rolePlanner)) > 1 || tc.after == "" && len(w.asked) > 0 {
				t.Errorf("ran %q after %d questions", w.ran, len(w.asked))
			}
			for i, want := range tc.want {
				if got := w.journal.plans[0].Tasks[i]; got.State != want || want == TaskFailed && got.Result.Rule != "person.unknown" {
					t.Errorf("task %d is %s (%+v), want %s", i+1, got.State, got.Result, want)
				}
			}
			if texts := w.journal.texts(); len(texts) != 1 || !strings.HasPrefix(texts[0], "I stopped: you are not served here any more.") {
				t.Errorf("said %q", texts)
			}
		})
	}
}

// Who is no admin any more runs confined, though the turn began as an admin's.
func TestCommandRunsWithTheRoleOfNow(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]bool{"admin": true, "user": false, "": false} {
		w := newWorld(t)
		w.decide = func(tools.Question) tools.Decision { return tools.Decision{Verdict: tools.Allow, Role: role} }
		w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
			if cmd.Admin != want {
				t.Errorf("now %q: as an admin %v, want %v", role, cmd.Admin, want)
			}
			return tools.Result{End: tools.EndOK}
		}
		w.script(map[string][]string{rolePlanner: {planText(execTask("ls"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
		w.run()
		w.wantEnd("done", "answered")
	}
}

// The gate reads the line of a command when it is planned and when it is to run.
func TestGateSeesTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Command == "git push" {
			return tools.Decision{Verdict: tools.Refuse, Rule: `policy.exec.deny "git push *"`, Reason: "it is denied"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	w.script(map[string][]string{rolePlanner: {planText(execTask("git push"), msgTask("tell")), planText(execTask("git status"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.run()
	if again := w.requests(rolePlanner)[1].User; !strings.Contains(again, `exec is not permitted here by the rule policy.exec.deny "git push *": it is denied`) {
		t.Errorf("the planner was not told:\n%s", again)
	}
	lines := 0
	for _, q := range w.gated {
		if q.Command == "git status" {
			lines++
		}
	}
	if lines != 2 || len(w.ran) != 1 || w.ran[0] != "git status" {
		t.Errorf("asked %d times about it, ran %q", lines, w.ran)
	}
}
