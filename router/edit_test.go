package router_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/core"
)

// tooLate is said of an edit of what was answered.
const tooLate = "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it."

// edited is what is answered when want-a is changed to want-b at a boundary, by
// on_edit; the rest are as "".
var edited = map[string]map[string]string{
	"steer": {
		"":       "re: want-b",
		atWorker: "re: want-a|re: want-b", // no boundary follows; the edit runs by itself
		atEnd:    "re: want-a|" + tooLate, // a revision
	},
	"restart": {
		"":    "re: want-b",
		atEnd: "re: want-a|" + tooLate,
	},
	"ignore": {
		"":      "re: want-a",
		atQueue: "re: want-b", // nothing runs yet that could be ignored for
		atEnd:   "re: want-a|" + tooLate,
	},
}

func TestEditsAreAppliedAtEachBoundary(t *testing.T) {
	t.Parallel()
	for onEdit := range edited {
		for _, death := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/death=%v", onEdit, death), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					r.config.OnEdit = onEdit
					s := newScene(t, r, "queue")
					for _, boundary := range boundaries {
						s.meet(boundary, "want-a", death, func(conv, id string) { r.platform.Edit(conv, id, "want-b") })
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
		r.config.OnEdit = "restart"
		s := newScene(t, r, "queue")
		s.mind.hold(atSecond) // for good: only the edit ends it
		id := r.platform.Say("c1", "ada", "want-a")
		r.until("the second command runs", func() bool { return s.mind.reached(atSecond) == 1 })
		s.mind.hold(atPlan)
		r.platform.Edit("c1", id, "want-b")
		r.until("it is planned anew", func() bool { return s.mind.reached(atPlan) == 2 })
		turn := r.turns()[1]
		whole, err := r.db.Router().Turn(t.Context(), turn.ID, false)
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
		// Cancelled while it plans anew, after a restart.
		r.platform.Say("c1", "ada", "/cancel")
		r.shows(1, "Cancelled. Done: `first`; stopped midway: `second`.")
		s.settle()
		if n := len(s.mind.commands()); n != 2 {
			t.Errorf("%d commands ran: %q", n, s.mind.commands())
		}
	})
}

// A cancel that meets a restart under way wins.
func TestCancelWinsOverARestart(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.OnEdit = "restart"
		s := newScene(t, r, "queue")
		s.mind.hold(atFirst)
		id := r.platform.Say("c1", "ada", "want-a")
		r.until("the first command runs", func() bool { return s.mind.reached(atFirst) == 1 })
		m := scripted.Message{
			Event: channels.EventEdited, ID: id, Conversation: "c1", User: "ada", Text: "want-b", Revision: 1,
		}
		r.platform.Happen(m)
		r.platform.Say("c1", "ada", "/cancel")
		r.until("it says so", func() bool { return len(r.platform.Sent()) == 1 })
		s.settle()
		if sent := r.platform.Sent(); len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "Cancelled.") {
			t.Errorf("sent %q", texts(sent))
		}
	})
}

func TestEachEditIsAppliedAsItsTurnAllows(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newScene(t, r, "queue")
		answered := func(conv string) string {
			t.Helper()
			r.until("it is accepted", func() bool { return r.platform.Pending() == 0 })
			s.settle()
			return strings.Join(texts(r.platform.SentIn(conv)), "|")
		}
		want := func(what, conv, want string) {
			t.Helper()
			if got := answered(conv); got != want {
				t.Errorf("%s: answered %q, want %q", what, got, want)
			}
		}
		edit := func(conv, id, text string, revision int64) {
			r.platform.Happen(scripted.Message{
				Event: channels.EventEdited, ID: id, Conversation: conv, User: "ada", Text: text, Revision: revision,
			})
		}
		id := r.platform.Say("c-same", "ada", "quick-a")
		r.platform.Edit("c-same", id, "quick-a")
		want("equal text", "c-same", "re: quick-a")

		edit("c-new", "m-new", "quick-a", 1)
		want("never taken", "c-new", "re: quick-a")

		release := s.mind.hold(atFirst)
		id = r.platform.Say("c-two", "ada", "want-a")
		r.until("it runs", func() bool { return s.mind.reached(atFirst) > 0 })
		r.platform.Edit("c-two", id, "want-b")
		r.platform.Edit("c-two", id, "want-c")
		r.until("both are accepted", func() bool { return r.platform.Pending() == 0 })
		release()
		want("two in a row", "c-two", "re: want-c")

		r.platform.Repeat(3)
		id = r.platform.Say("c-again", "ada", "quick-a")
		r.platform.Edit("c-again", id, "quick-b")
		r.platform.Repeat(1)
		if got := answered("c-again"); got != "re: quick-b" && got != "re: quick-a|"+tooLate && got != "re: quick-a|re: quick-b" {
			t.Errorf("told three times each: answered %q", got)
		}

		edit("c-before", "m-before", "quick-b", 1)
		r.platform.Happen(scripted.Message{ID: "m-before", Conversation: "c-before", User: "ada", Text: "quick-a"})
		want("told before its original", "c-before", "re: quick-b")

		id = r.platform.Say("c-command", "ada", "/help")
		r.await(len(r.platform.Sent()) + 1)
		help := answered("c-command")
		r.platform.Edit("c-command", id, "quick-a")
		want("of a command", "c-command", help)

		id = r.platform.Say("c-tocommand", "ada", "quick-a")
		want("before it is a command", "c-tocommand", "re: quick-a")
		r.platform.Edit("c-tocommand", id, "/reset")
		want("into a command", "c-tocommand", "re: quick-a|"+tooLate)

		id = r.platform.Say("c-notice", "ada", "  ")
		notice := answered("c-notice")
		r.platform.Edit("c-notice", id, "quick-a")
		want("of a notice", "c-notice", notice)

		id = r.platform.Say("c-stranger", "eve", "quick-a")
		r.platform.Edit("c-stranger", id, "quick-b")
		want("of a stranger's", "c-stranger", "")

		id = r.platform.Say("c-empty", "ada", "quick-a")
		want("before it is empty", "c-empty", "re: quick-a")
		r.platform.Edit("c-empty", id, " ")
		if got := answered("c-empty"); !strings.Contains(got, "empty") || !strings.Contains(got, "as it was before") {
			t.Errorf("made empty: %q", got)
		}
		r.platform.Edit("c-empty", id, "quick-a")
		if got := answered("c-empty"); strings.Count(got, "|") != 1 {
			t.Errorf("made what it was: %q", got)
		}
	})
}

// The new text of a message that was answered is read by the next turn.
func TestRevisionIsReadLater(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newScene(t, r, "queue")
		id := r.platform.Say("c1", "ada", "quick-a")
		r.await(1)
		s.settle()
		r.platform.Edit("c1", id, "it should have been Rome")
		r.until("it is accepted", func() bool { return r.platform.Pending() == 0 })
		r.platform.Say("c1", "ada", "quick-b")
		r.await(3)
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
				r.config.OnEdit = onEdit
				s := newScene(t, r, "queue")
				release := s.mind.hold(atPlan)
				id := r.platform.Say("c1", "ada", "quick-a")
				r.until("it is planned", func() bool { return s.mind.reached(atPlan) == 1 })
				r.platform.Edit("c1", id, "quick-b")
				r.until("the edit is accepted", func() bool { return r.platform.Pending() == 0 })
				release()
				r.settle()
				if got := texts(r.platform.SentIn("c1")); !slices.Equal(got, []string{"re: quick-b"}) {
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
	a.agent, b.agent, a.config.Workers = first, second, 1
	heard := b.listens()
	startBoth(a, b)
	b.until("b listens", heard.begun)
	done := first.hold(atPlan)
	defer done()
	a.platform.Say("c1", "ada", "quick-long")
	a.until("a's worker is taken", func() bool { return first.reached(atPlan) == 1 })
	release := second.hold(atPlan)
	id := a.platform.Say("c2", "bob", "quick-a")
	a.until("b plans", func() bool { return second.reached(atPlan) == 1 })
	a.platform.Edit("c2", id, "quick-b")
	a.until("the edit is accepted", func() bool { return a.platform.Pending() == 0 })
	b.until("b is woken", func() bool { return heard.count(core.WakeEdit) > 0 })
	time.Sleep(300 * time.Millisecond) // and looks
	release()
	done()
	a.settle()
	if got := texts(a.platform.SentIn("c2")); !slices.Equal(got, []string{"re: quick-b"}) {
		t.Errorf("answered %q", got)
	}
}
