package turns_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/core"
	"switchboard/router/routertest"
)

// edited is what is answered when want-a is changed to want-b at a boundary, by
// on_edit; the rest are as "".
var edited = map[string]map[string]string{
	"steer": {
		"":       "re: want-b",
		atWorker: "re: want-a|re: want-b",            // no boundary follows; the edit runs by itself
		atEnd:    "re: want-a|" + routertest.TooLate, // a revision
	},
	"restart": {
		"":    "re: want-b",
		atEnd: "re: want-a|" + routertest.TooLate,
	},
	"ignore": {
		"":      "re: want-a",
		atQueue: "re: want-b", // nothing runs yet that could be ignored for
		atEnd:   "re: want-a|" + routertest.TooLate,
	},
}

func TestEditsAreAppliedAtEachBoundary(t *testing.T) {
	t.Parallel()
	for onEdit := range edited {
		for _, death := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/death=%v", onEdit, death), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					r.Config.OnEdit = onEdit
					s := newScene(t, r, "queue")
					for _, boundary := range boundaries {
						s.meet(boundary, "want-a", death, func(conv, id string) { r.Platform.Edit(conv, id, "want-b") })
						want := cmp.Or(edited[onEdit][boundary], edited[onEdit][""])
						if death && onEdit == "restart" && boundary == atWorker {
							want = edited["steer"][boundary] // resumed behind the last boundary
						}
						if got := s.answers(boundary); got != want {
							t.Errorf("%s: answered %q, want %q", boundary, got, want)
						}
					}
				})
			})
		}
	}
}

// An edit breaks the running command off at once; what was done stays done.
func TestRestartKeepsWhatWasDone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.OnEdit = "restart"
		s := newScene(t, r, "queue")
		s.mind.hold(atSecond) // for good: only the edit ends it
		id := r.Platform.Say("c1", "ada", "want-a")
		r.Until("the second command runs", func() bool { return s.mind.reached(atSecond) == 1 })
		s.mind.hold(atPlan)
		r.Platform.Edit("c1", id, "want-b")
		r.Until("it is planned again", func() bool { return s.mind.reached(atPlan) == 2 })
		turn := r.Turns()[1]
		whole, err := r.DB.Router().Turn(t.Context(), turn.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, task := range whole.Plans[0].Tasks {
			states = append(states, task.State)
		}
		if got := strings.Join(states, " "); turn.State != "running" || got != "done cancelled pending" {
			t.Errorf("turn %s, tasks of the first plan %s", turn.State, got)
		}
		// Cancelled while it plans again, after a restart.
		r.Platform.Say("c1", "ada", "/cancel")
		r.Shows(1, "Cancelled. Done: `first`; stopped midway: `second`.")
		s.Settle()
		if n := len(s.mind.commands()); n != 2 {
			t.Errorf("%d commands ran: %q", n, s.mind.commands())
		}
	})
}

// A cancel that meets a restart under way wins.
func TestCancelWinsOverARestart(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.OnEdit = "restart"
		s := newScene(t, r, "queue")
		s.mind.hold(atFirst)
		id := r.Platform.Say("c1", "ada", "want-a")
		r.Until("the first command runs", func() bool { return s.mind.reached(atFirst) == 1 })
		m := scripted.Message{
			Event: channels.EventEdited, ID: id, Conversation: "c1", User: "ada", Text: "want-b", Revision: 1,
		}
		r.Platform.Happen(m)
		r.Platform.Say("c1", "ada", "/cancel")
		r.Until("it says so", func() bool { return len(r.Platform.Sent()) == 1 })
		s.Settle()
		if sent := r.Platform.Sent(); len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "Cancelled.") {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
	})
}

func TestEachEditIsAppliedAsItsTurnAllows(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newScene(t, r, "queue")
		answered := func(conv string) string {
			t.Helper()
			r.Until("it is accepted", func() bool { return r.Platform.Pending() == 0 })
			s.Settle()
			return strings.Join(routertest.Texts(r.Platform.SentIn(conv)), "|")
		}
		want := func(what, conv, want string) {
			t.Helper()
			if got := answered(conv); got != want {
				t.Errorf("%s: answered %q, want %q", what, got, want)
			}
		}
		edit := func(conv, id, text string, revision int64) {
			r.Platform.Happen(scripted.Message{
				Event: channels.EventEdited, ID: id, Conversation: conv, User: "ada", Text: text, Revision: revision,
			})
		}
		id := r.Platform.Say("c-same", "ada", "quick-a")
		r.Platform.Edit("c-same", id, "quick-a")
		want("equal text", "c-same", "re: quick-a")

		edit("c-new", "m-new", "quick-a", 1)
		want("never taken", "c-new", "re: quick-a")

		release := s.mind.hold(atFirst)
		id = r.Platform.Say("c-two", "ada", "want-a")
		r.Until("it runs", func() bool { return s.mind.reached(atFirst) > 0 })
		r.Platform.Edit("c-two", id, "want-b")
		r.Platform.Edit("c-two", id, "want-c")
		r.Until("both are accepted", func() bool { return r.Platform.Pending() == 0 })
		release()
		want("two in a row", "c-two", "re: want-c")

		r.Platform.Repeat(3)
		id = r.Platform.Say("c-again", "ada", "quick-a")
		r.Platform.Edit("c-again", id, "quick-b")
		r.Platform.Repeat(1)
		if got := answered("c-again"); got != "re: quick-b" && got != "re: quick-a|"+routertest.TooLate && got != "re: quick-a|re: quick-b" {
			t.Errorf("told three times each: answered %q", got)
		}

		edit("c-before", "m-before", "quick-b", 1)
		r.Platform.Happen(scripted.Message{ID: "m-before", Conversation: "c-before", User: "ada", Text: "quick-a"})
		want("told before its original", "c-before", "re: quick-b")

		id = r.Platform.Say("c-command", "ada", "/help")
		r.Await(len(r.Platform.Sent()) + 1)
		help := answered("c-command")
		r.Platform.Edit("c-command", id, "quick-a")
		want("of a command", "c-command", help)

		id = r.Platform.Say("c-tocommand", "ada", "quick-a")
		want("before it is a command", "c-tocommand", "re: quick-a")
		r.Platform.Edit("c-tocommand", id, "/reset")
		want("into a command", "c-tocommand", "re: quick-a|"+routertest.TooLate)

		id = r.Platform.Say("c-notice", "ada", "  ")
		notice := answered("c-notice")
		r.Platform.Edit("c-notice", id, "quick-a")
		want("of a notice", "c-notice", notice)

		id = r.Platform.Say("c-stranger", "eve", "quick-a")
		r.Platform.Edit("c-stranger", id, "quick-b")
		want("of a stranger's", "c-stranger", "")

		id = r.Platform.Say("c-empty", "ada", "quick-a")
		want("before it is empty", "c-empty", "re: quick-a")
		r.Platform.Edit("c-empty", id, " ")
		if got := answered("c-empty"); !strings.Contains(got, "empty") || !strings.Contains(got, "as it was before") {
			t.Errorf("made empty: %q", got)
		}
		r.Platform.Edit("c-empty", id, "quick-a")
		if got := answered("c-empty"); strings.Count(got, "|") != 1 {
			t.Errorf("made what it was: %q", got)
		}
	})
}

// The new text of a message that was answered is read by the next turn.
func TestRevisionIsReadLater(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newScene(t, r, "queue")
		id := r.Platform.Say("c1", "ada", "quick-a")
		r.Await(1)
		s.Settle()
		r.Platform.Edit("c1", id, "it should have been Rome")
		r.Until("it is accepted", func() bool { return r.Platform.Pending() == 0 })
		r.Platform.Say("c1", "ada", "quick-b")
		r.Await(3)
		s.mind.mu.Lock()
		defer s.mind.mu.Unlock()
		if last := s.mind.plans[len(s.mind.plans)-1]; !strings.Contains(last, "(edited earlier message)") || !strings.Contains(last, "Rome") {
			t.Errorf("the planner reads %s", last)
		}
	})
}

// An edit while a plan is made that is the answer at once: the new text alone is answered.
func TestEditWhileTheAnswerIsPlanned(t *testing.T) {
	t.Parallel()
	for _, onEdit := range []string{"steer", "restart"} {
		t.Run(onEdit, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Config.OnEdit = onEdit
				s := newScene(t, r, "queue")
				release := s.mind.hold(atPlan)
				id := r.Platform.Say("c1", "ada", "quick-a")
				r.Until("it is planned", func() bool { return s.mind.reached(atPlan) == 1 })
				r.Platform.Edit("c1", id, "quick-b")
				r.Until("the edit is accepted", func() bool { return r.Platform.Pending() == 0 })
				release()
				r.Settle()
				if got := routertest.Texts(r.Platform.SentIn("c1")); !slices.Equal(got, []string{"re: quick-b"}) {
					t.Errorf("answered %q", got)
				}
			})
		})
	}
}

// The same where another engine has the turn than the one that takes the edit in.
func TestEditReachesThePlanOfAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	first, second := newMind(t), newMind(t)
	a.Agent, b.Agent, a.Config.Workers = first, second, 1
	heard := b.Listens()
	routertest.StartBoth(a.Rig, b.Rig)
	b.Until("b listens", heard.Begun)
	done := first.hold(atPlan)
	defer done()
	a.Platform.Say("c1", "ada", "quick-long")
	a.Until("a's worker is taken", func() bool { return first.reached(atPlan) == 1 })
	release := second.hold(atPlan)
	id := a.Platform.Say("c2", "bob", "quick-a")
	a.Until("b plans", func() bool { return second.reached(atPlan) == 1 })
	a.Platform.Edit("c2", id, "quick-b")
	a.Until("the edit is accepted", func() bool { return a.Platform.Pending() == 0 })
	b.Until("b is woken", func() bool { return heard.Count(core.WakeEdit) > 0 })
	release()
	done()
	a.Settle()
	if got := routertest.Texts(a.Platform.SentIn("c2")); !slices.Equal(got, []string{"re: quick-b"}) {
		t.Errorf("answered %q", got)
	}
}
