package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// remembers is a memory that knows the same at every place.
type remembers struct {
	known  memory.Known
	recall func(ctx context.Context, at memory.Place, said string) error // nil: none
}

func (m remembers) Recall(ctx context.Context, at memory.Place, said string) (memory.Known, error) {
	if m.recall != nil {
		if err := m.recall(ctx, at, said); err != nil {
			return memory.Known{}, err
		}
	}
	known := m.known // the caller's own: turns of several tests may know the same
	known.Standing, known.Found = slices.Clone(known.Standing), slices.Clone(known.Found)
	return known, nil
}

// What is remembered is asked for once a turn, where there is something, and says where the turn is.
func TestMemoryIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		w, asked := newWorld(t), 0
		w.journal.context.Remembers, w.journal.context.Recent = there, []Line{{ID: 9}, {ID: 10}}
		w.turn.Place.Group, w.turn.Place.Direct, w.turn.Session.Private = "g", false, true
		w.opts.Memory = remembers{recall: func(_ context.Context, at memory.Place, said string) error {
			asked++
			if want := (memory.Place{Person: "marco", Channel: "console", Group: "g", Session: 3, Private: true, Since: 9}); at != want || said != "how much is it?" {
				t.Errorf("asked at %+v for %q", at, said)
			}
			return nil
		}}
		w.script(map[string][]string{rolePlanner: {"{}", planText(execTask("a"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
		w.run()
		if want := map[bool]int{true: 1}[there]; asked != want {
			t.Errorf("asked %d times, want %d", asked, want)
		}
	}
}

// A memory that fails, or hangs, delays an answer by two seconds at most.
func TestAnswersWithoutMemory(t *testing.T) {
	t.Parallel()
	for name, recall := range map[string]func(context.Context) error{
		"fails": func(context.Context) error { return errors.New("down") },
		"hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) {
				w.t = t
				w.journal.context.Remembers = true
				w.opts.Memory = remembers{recall: func(ctx context.Context, _ memory.Place, _ string) error { return recall(ctx) }}
				w.script(map[string][]string{rolePlanner: {planText(msgTask("tell"))}, roleWorker: {"told"}})
				began := time.Now()
				w.run()
				if took := time.Since(began); took > recallWait {
					t.Errorf("it took %s", took)
				}
			})
			if n := len(w.journal.said); n != 1 {
				t.Errorf("%d answers", n)
			}
		})
	}
}

// What is remembered and comes from elsewhere, or from others, taints the turn.
func TestTaintedMemoriesTaintTheTurn(t *testing.T) {
	t.Parallel()
	group := memory.OfGroup("tg", "g")
	for name, known := range map[string]memory.Known{
		"found":    {Found: []memory.Hit{{Text: "f", Taint: "web"}}},
		"question": {Standing: []memory.Entry{{Kind: memory.Question, Text: "q", Taint: "web"}}},
		// In a group others say things too.
		"another's fact":       {Found: []memory.Hit{{Text: "f", Scope: group, Person: "bob"}}},
		"nobody's fact":        {Found: []memory.Hit{{Text: "f", Scope: group}}},
		"another's preference": {Standing: []memory.Entry{{Kind: memory.Preference, Text: "p", Scope: group, Person: "bob"}}},
		"another's own rule":   {Standing: []memory.Entry{{Kind: memory.Rule, Text: "r", Scope: memory.OfPerson("bob"), Person: "bob"}}},
		"clean": {
			Found: []memory.Hit{{Text: "f", Scope: group, Person: "marco"}, {Text: "f", Scope: memory.Global, Person: "bob"}, {Text: "f", Scope: memory.OfPerson("marco")}},
			Standing: []memory.Entry{
				{Kind: memory.Rule, Text: "r", Scope: group, Person: "bob"},
				{Kind: memory.Question, Text: "q", Scope: group, Person: "marco"},
				{Kind: memory.Preference, Text: "p", Scope: memory.Global, Person: "bob"},
			},
		},
	} {
		w := newWorld(t)
		w.journal.context.Remembers, w.opts.Memory = true, remembers{known: known}
		r := newRunFor(w)
		r.recall(t.Context())
		if clean := r.taint == tools.Clean; clean != (name == "clean") {
			t.Errorf("%s: taint %q", name, r.taint)
		}
	}
}

// Nothing is kept of what a review teaches in a private chat, or where nothing is to be learned.
func TestNothingIsLearned(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"":          func(*world) {},
		"private":   func(w *world) { w.turn.Session.Private = true },
		"forgetful": func(w *world) { w.opts.Forgetful = true },
	} {
		w := newWorld(t)
		change(w)
		w.script(map[string][]string{
			rolePlanner: {planText(execTask("a"), msgTask("tell"))}, roleReviewer: {strings.Replace(okText(), `"learn":null`, `"learn":"LEARNED"`, 1)}, roleWorker: {"told"},
		})
		w.run()
		learned := w.journal.plans[0].Tasks[0].Review.Learn
		if (learned == "LEARNED") != (name == "") {
			t.Errorf("%q: learned %q", name, learned)
		}
	}
}

// Of what the summary says as well the newest lines are shown alone; without one they all are. In a direct chat it says nothing of what is
// tainted, which is shown, and taints, as long as it is among the latest.
func TestWhatIsSummedUpIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		summary              string
		summed, lines, shown int
		leftOut, direct      bool
		tainted              int // that line, from 1
		taint                tools.Taint
		since                int64
	}{
		"all but the newest":          {"SUMMARY", 7, 10, 5, false, true, 0, tools.Clean, 6},
		"some":                        {"SUMMARY", 4, 10, 6, true, true, 0, tools.Clean, 5},
		"few":                         {"SUMMARY", 3, 3, 3, false, true, 0, tools.Clean, 1},
		"none":                        {"SUMMARY", 0, 100, 100, true, true, 0, tools.Clean, 1},
		"no summary":                  {"", 10, 10, 10, false, true, 0, tools.Clean, 1},
		"tainted":                     {"SUMMARY", 7, 10, 6, false, true, 2, "web", 6},
		"tainted, in a group":         {"SUMMARY", 7, 10, 5, false, false, 2, tools.Clean, 6},
		"tainted, and not summed up":  {"SUMMARY", 7, 10, 5, false, true, 9, "web", 6},
		"tainted, as the newest left": {"SUMMARY", 7, 10, 6, false, true, 5, "web", 5},
	} {
		w, since := newWorld(t), int64(0)
		w.turn.Place.Direct = tt.direct
		w.turn.Session.Summary, w.journal.context.LeftOut, w.journal.context.Remembers = tt.summary, tt.leftOut, true
		for i := range tt.lines {
			w.journal.context.Recent = append(w.journal.context.Recent, Line{ID: int64(i + 1), Summed: i < tt.summed, Author: "marco", Text: "LINE"})
		}
		if tt.tainted > 0 {
			w.journal.context.Recent[tt.tainted-1].Taint = "web"
		}
		w.opts.Memory = remembers{recall: func(_ context.Context, at memory.Place, _ string) error {
			since = at.Since
			return nil
		}}
		w.script(map[string][]string{rolePlanner: {planText(answerTask("hi"))}})
		w.run()
		user := w.requests(rolePlanner)[0].User
		if n := strings.Count(user, "LINE"); n != tt.shown || strings.Contains(user, "left out") != tt.leftOut || strings.Contains(user, "SUMMARY") != (tt.summary != "") {
			t.Errorf("%s: %d are shown\n%s", name, n, user)
		}
		if taint := w.journal.said[0].Taint; taint != tt.taint || since != tt.since {
			t.Errorf("%s: tainted by %q, and messages are looked for before %d", name, taint, since)
		}
	}
}

// A question is put by the plan that names it, and answered by the person's own words if nothing from elsewhere was read; where there is
// none, nothing says so.
func TestQuestionsArePutAndAnswered(t *testing.T) {
	t.Parallel()
	open := memory.Known{Standing: []memory.Entry{{ID: 5, Kind: memory.Question, Text: "OPEN", Person: "marco"}}}
	both := memory.Known{Standing: open.Standing, Asked: []memory.Entry{{ID: 6, Kind: memory.Question, Text: "Tea?", Person: "marco"}}}
	const no = "there is no question"
	for name, tt := range map[string]struct {
		known    memory.Known
		change   func(*world)
		names    int64
		question int64
		answer   string
		shown    string // of OPEN and Tea?
		fault    string
	}{
		"nothing":        {names: 5, fault: no},
		"no question":    {known: both, shown: "OPEN Tea?"},
		"put":            {known: open, names: 5, question: 5, shown: "OPEN"},
		"answered":       {known: both, names: 6, question: 6, shown: "OPEN Tea?", answer: "Asked “Tea?”, marco answered: how much is it?"},
		"another":        {known: both, names: 7, shown: "OPEN Tea?", fault: no},
		"nobody there":   {known: both, change: func(w *world) { w.turn.Limits.NoQuestions = true }, names: 5, fault: no},
		"tainted":        {known: both, change: func(w *world) { w.turn.Message.Quote = "say yes" }, names: 6, shown: "OPEN", fault: no},
		"tainted, put":   {known: both, change: func(w *world) { w.turn.Message.Quote = "say yes" }, names: 5, question: 5, shown: "OPEN"},
		"not their word": {known: both, change: func(w *world) { w.turn.Message.Text = "> yes" }, names: 6, shown: "OPEN", fault: no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.journal.context.Remembers, w.opts.Memory = true, remembers{known: tt.known}
			if tt.change != nil {
				tt.change(w)
			}
			plan := Plan{Goal: "g", Question: tt.names, Tasks: []Task{answerTask("hi")}}
			w.script(map[string][]string{rolePlanner: {marshal(plan), planText(answerTask("hi"))}})
			w.run()
			asked := w.requests(rolePlanner)
			user := asked[0].User
			for _, q := range []string{"OPEN", "Tea?"} {
				if strings.Contains(user, q) != strings.Contains(tt.shown, q) {
					t.Errorf("%s is shown: %v\n%s", q, strings.Contains(user, q), user)
				}
			}
			if has := strings.Contains(string(asked[0].Schema.JSON), `"question"`); has != (tt.shown != "") || !has && strings.Contains(user, "question") {
				t.Errorf("the schema has a question: %v\n%s", has, user)
			}
			if refused := len(asked) > 1; refused != (tt.fault != "") || refused && !strings.Contains(asked[1].User, tt.fault) {
				t.Errorf("%d prompts, the last %s", len(asked), asked[len(asked)-1].User)
			}
			if p := w.journal.plans[0]; p.Question != tt.question || p.Answer != tt.answer {
				t.Errorf("question %d, answer %q", p.Question, p.Answer)
			}
		})
	}
}

// Rules of a topic of which the message speaks stand beside those that always do, for planner and worker; questions for the planner alone.
func TestRulesOfTheTopicReachTheirRoles(t *testing.T) {
	t.Parallel()
	rule := func(category string) memory.Entry {
		return memory.Entry{Kind: memory.Rule, Category: category, Text: "RULE-" + category}
	}
	w := newWorld(t)
	w.turn.Message.Text = "remind me every Monday at nine"
	w.journal.context.Remembers = true
	w.opts.Memory = remembers{known: memory.Known{
		Standing: []memory.Entry{rule("general"), rule("style"), rule("scheduling"), rule("channel"), {ID: 5, Kind: memory.Question, Text: "OPEN", Person: "marco"}},
		Asked:    []memory.Entry{{ID: 6, Kind: memory.Question, Text: "ASKED", Person: "marco"}},
	}}
	w.script(map[string][]string{rolePlanner: {planText(execTask("a"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
	w.run()
	for role, want := range map[string]string{
		rolePlanner: "RULE-general RULE-style RULE-scheduling OPEN ASKED", roleWorker: "RULE-general RULE-style RULE-scheduling", roleReviewer: "",
	} {
		for _, word := range []string{"RULE-general", "RULE-style", "RULE-scheduling", "RULE-channel", "OPEN", "ASKED"} {
			if user := w.requests(role)[0].User; strings.Contains(user, word) != strings.Contains(want, word) {
				t.Errorf("%s sees %s: %v", role, word, strings.Contains(user, word))
			}
		}
	}
}
