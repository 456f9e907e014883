package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// An acting is an agent that does what the test writes.
type acting func(p play) error

func (a acting) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	return a(play{j, ctx, turn})
}

// A play is one turn and its journal, with short ways to write.
type play struct {
	agent.Journal
	ctx  context.Context
	turn agent.Turn
}

func (p play) plan(attempt int, goal string, steps ...string) error {
	plan := agent.PlanRow{Attempt: attempt, Goal: goal}
	for i, step := range steps {
		plan.Tasks = append(plan.Tasks, agent.TaskRow{
			Task: agent.Task{Type: agent.TaskExec, Detail: step}, Position: i, State: agent.TaskPending,
		})
	}
	plan.Tasks = append(plan.Tasks, agent.TaskRow{
		Task: agent.Task{Type: agent.TaskMsg, Detail: "say it"}, Position: len(steps), State: agent.TaskPending,
	})
	return p.Commit(p.ctx, agent.Step{Plan: &plan})
}

func (p play) state(attempt, position int, state agent.TaskState) error {
	change := agent.TaskChange{Attempt: attempt, Position: position, Type: agent.TaskExec, State: state}
	if state != agent.TaskRunning {
		change.Result = &tools.Result{End: tools.EndOK, Output: "secret output"}
	}
	return p.Commit(p.ctx, agent.Step{Tasks: []agent.TaskChange{change}})
}

// work runs a step for so long.
func (p play) work(attempt, position int, d time.Duration) error {
	if err := p.state(attempt, position, agent.TaskRunning); err != nil {
		return err
	}
	p.pause(d)
	if p.ctx.Err() != nil {
		return agent.ErrReleased
	}
	return p.state(attempt, position, agent.TaskDone)
}

func (p play) say(text string) error {
	return p.Commit(p.ctx, agent.Step{Say: []agent.Say{{Position: -1, Notice: true, Text: text}}})
}

func (p play) answer(text string) error {
	return p.Commit(p.ctx, agent.Step{
		Say: []agent.Say{{Text: text, Final: true}}, End: &agent.End{State: "done", Outcome: "answered"},
	})
}

func (p play) cancelled() error {
	return p.Commit(p.ctx, agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: "Cancelled."}},
		End: &agent.End{State: "cancelled", Outcome: "cancelled"},
	})
}

func (p play) pause(d time.Duration) {
	select {
	case <-p.ctx.Done():
	case <-time.After(d):
	}
}

// inTime runs f with a fake clock, over SQLite.
func inTime(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, storetest.SQLite(t))
		r.script.Rich, r.script.DraftEvery = true, time.Second
		f(t, r)
		r.end()
	})
}

// settled waits until n parts are sent, and ends the router.
func (r *rig) settled(n int) {
	r.t.Helper()
	for tries := 0; len(r.deliveries("sent")) < n; tries++ {
		if time.Sleep(250 * time.Millisecond); tries == 400 {
			r.t.Fatalf("%d parts are sent, want %d", len(r.deliveries("sent")), n)
		}
	}
	r.end()
}

// onChange sets what becomes of the platform's changes of one kind.
func (r *rig) onChange(op scripted.Op, do func(scripted.Change) channelstest.Fault) {
	r.platform.OnChange(func(c scripted.Change) channelstest.Fault {
		if c.Op != op {
			return channelstest.Fault{}
		}
		return do(c)
	})
}

func drafted(r *rig) []string {
	var list []string
	for _, c := range r.platform.Changes(scripted.OpDraft) {
		list = append(list, c.Text)
	}
	return list
}

func TestProgressAppearsAndBecomesTheAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var began, shown time.Time
		r.platform.OnChange(func(c scripted.Change) channelstest.Fault {
			if c.Op == scripted.OpDraft && shown.IsZero() {
				shown = time.Now()
			}
			return channelstest.Fault{}
		})
		r.agent = acting(func(p play) error {
			began = time.Now()
			return errors.Join(p.plan(0, "Tidy the *house*", "sweep", "wash"), p.work(0, 0, 4*time.Second), p.work(0, 1, 4*time.Second), p.answer("clean"))
		})
		r.start()
		r.platform.Say("c1", "ada", "tidy")
		r.settled(1)
		sent := r.platform.Sent()
		if len(sent) != 1 || sent[0].Text != "clean" || sent[0].Draft {
			t.Fatalf("shown %+v", sent)
		}
		if d := shown.Sub(began); d < 1500*time.Millisecond || d > 2500*time.Millisecond {
			t.Errorf("progress appeared after %s", d)
		}
		drafts := drafted(r)
		if len(drafts) < 2 || len(drafts) > 8 {
			t.Fatalf("drafts %q", drafts)
		}
		if !strings.Contains(drafts[0], "Tidy the *house*") || !strings.Contains(drafts[0], "⏳ sweep") || !strings.Contains(drafts[0], "▫️ wash") {
			t.Errorf("first draft %q", drafts[0])
		}
		for _, d := range drafts {
			if strings.Contains(d, "secret output") {
				t.Errorf("a draft shows an output: %q", d)
			}
		}
		if edits := r.platform.Changes(scripted.OpEdit); len(edits) != 1 || edits[0].ID != sent[0].ID {
			t.Errorf("edits %+v", edits)
		}
		if left := r.deliveries("draft"); len(left) != 0 {
			t.Errorf("drafts left: %+v", left)
		}
	})
}

// What is answered at once, what only talks, and where the channel has no drafts:
// nothing is shown but the answer.
func TestProgressIsNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		steps []string
		takes time.Duration
		set   func(*scripted.Config)
	}{
		{"quick", []string{"sweep"}, time.Second, func(*scripted.Config) {}},
		{"talk", nil, 10 * time.Second, func(*scripted.Config) {}},
		{"no drafts here", []string{"sweep"}, 10 * time.Second, func(c *scripted.Config) { c.DraftEvery = 0 }},
		{"nothing can be edited", []string{"sweep"}, 10 * time.Second, func(c *scripted.Config) { c.Rich = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				c.set(&r.script)
				r.agent = acting(func(p play) error {
					err := p.plan(0, "Tidy", c.steps...)
					p.pause(c.takes)
					return errors.Join(err, p.answer("clean"))
				})
				r.start()
				r.platform.Say("c1", "ada", "tidy")
				r.settled(1)
				if d := drafted(r); len(d) != 0 {
					t.Errorf("drafts %q", d)
				}
			})
		})
	}
}

func TestProgressIsSlowAndTheLatestWins(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.script.DraftEvery = 3 * time.Second
		var at []time.Time
		r.onChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			at = append(at, time.Now())
			return channelstest.Fault{}
		})
		steps := make([]string, 30)
		for i := range steps {
			steps[i] = fmt.Sprintf("step %d", i)
		}
		r.agent = acting(func(p play) error {
			err := p.plan(0, "Many", steps...)
			for i := range steps {
				err = errors.Join(err, p.work(0, i, 400*time.Millisecond))
			}
			p.pause(4 * time.Second)
			return errors.Join(err, p.answer("done"))
		})
		r.start()
		r.platform.Say("c1", "ada", "go")
		r.settled(1)
		for i := 1; i < len(at); i++ {
			if d := at[i].Sub(at[i-1]); d < 3*time.Second {
				t.Errorf("draft %d came %s after the one before", i, d)
			}
		}
		drafts := drafted(r)
		if len(drafts) < 5 || len(drafts) > 7 {
			t.Errorf("%d drafts", len(drafts))
		}
		if last := drafts[len(drafts)-1]; !strings.Contains(last, "✅ step 29") || strings.Contains(last, "step 15") {
			t.Errorf("the last draft is not the latest: %q", last)
		}
	})
}

// A message on the way takes the draft's place; what goes on after it grows below.
func TestProgressGoesOnBelowAMessage(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.agent = acting(func(p play) error {
			err := errors.Join(p.plan(0, "First", "try"), p.work(0, 0, 5*time.Second), p.say("that failed, trying otherwise"))
			p.pause(5 * time.Second) // the planner thinks
			return errors.Join(err, p.plan(1, "Second", "try again"), p.work(1, 0, 5*time.Second), p.answer("done"))
		})
		r.start()
		r.platform.Say("c1", "ada", "go")
		r.settled(2)
		r.reads("that failed, trying otherwise", "done")
		var second bool
		for _, c := range r.platform.Changes(scripted.OpDraft) {
			second = second || strings.Contains(c.Text, "Second") && !strings.Contains(c.Text, "First")
		}
		if !second {
			t.Errorf("the second plan was not shown: %q", drafted(r))
		}
		for _, s := range r.platform.Sent() {
			if s.Edits == 0 {
				t.Errorf("%q was not shown in a draft's place", s.Text)
			}
		}
		if left := r.deliveries("draft"); len(left) != 0 {
			t.Errorf("drafts left: %+v", left)
		}
	})
}

func TestDraftIsARowBeforeItIsSentAndOutlivesTheEngine(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var missing []string
		r.onChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			if rows := r.deliveries("draft"); len(rows) != 1 || c.ID != "" && rows[0].PlatformID != string(c.ID) {
				missing = append(missing, fmt.Sprintf("%s: %+v", c.Text, rows))
			}
			return channelstest.Fault{}
		})
		runs := 0
		r.agent = acting(func(p play) error {
			runs++
			if runs == 1 {
				err := errors.Join(p.plan(0, "Tidy", "sweep", "wash"), p.work(0, 0, 3*time.Second), p.work(0, 1, time.Hour))
				if errors.Is(err, agent.ErrReleased) {
					return agent.ErrReleased
				}
				return err
			}
			p.pause(3 * time.Second)
			return errors.Join(p.state(0, 1, agent.TaskDone), p.answer("clean"))
		})
		r.start()
		r.platform.Say("c1", "ada", "tidy")
		r.until("it is shown", func() bool { return len(r.platform.Sent()) == 1 && r.platform.Sent()[0].Edits > 0 })
		r.end()
		r.start()
		r.settled(1)
		if got := r.platform.Sent(); len(got) != 1 || got[0].Text != "clean" || runs != 2 {
			t.Errorf("shown %q after %d runs", texts(got), runs)
		}
		if len(missing) > 0 {
			t.Errorf("sent with no row: %q", missing)
		}
	})
}

func TestHangingPlatformDelaysNothing(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.platform.OnChange(func(c scripted.Change) channelstest.Fault {
			return channelstest.Fault{Delay: 24 * time.Hour} // typing, drafts, edits: all hang
		})
		var mu sync.Mutex // two turns run at once
		took := map[string]time.Duration{}
		r.agent = acting(func(p play) error {
			began := time.Now()
			err := errors.Join(p.plan(0, "Tidy", "sweep"), p.work(0, 0, 4*time.Second), p.say("half"), p.answer("clean"))
			mu.Lock()
			defer mu.Unlock()
			took[p.turn.Message.Text] = time.Since(began)
			return err
		})
		r.start()
		began := time.Now()
		r.platform.Say("c1", "ada", "tidy")
		r.platform.Say("c2", "bob", "too")
		sent := r.await(4)
		d := time.Since(began)
		r.end()
		if d > 4500*time.Millisecond {
			t.Errorf("the answers took %s", d)
		}
		for text, d := range took {
			if d > 4100*time.Millisecond {
				t.Errorf("the turn %q took %s", text, d)
			}
		}
		if got := texts(sent); strings.Count(fmt.Sprint(got), "clean") != 2 {
			t.Errorf("shown %q", got)
		}
		if len(r.platform.Changes(scripted.OpDraft)) == 0 || len(r.platform.Changes(scripted.OpTyping)) == 0 {
			t.Error("nothing hung")
		}
	})
}

// A draft whose call broke off may still overwrite what is shown, so that the answer
// does not take its place.
func TestDraftWhoseCallBrokeOffIsLeftBehind(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		n := 0
		r.onChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			n++
			return channelstest.Fault{LoseAnswer: n == 2}
		})
		r.agent = acting(func(p play) error {
			return errors.Join(p.plan(0, "Tidy", "sweep", "wash"), p.work(0, 0, 4*time.Second), p.work(0, 1, 4*time.Second), p.answer("clean"))
		})
		r.start()
		r.platform.Say("c1", "ada", "tidy")
		r.until("it is answered, and the draft taken back", func() bool {
			got := r.platform.Sent()
			return len(got) == 1 && got[0].Text == "clean"
		})
		r.end()
		if s := r.platform.Sent()[0]; s.Edits != 0 || n != 2 {
			t.Errorf("%d edits, %d drafts", s.Edits, n)
		}
		if d := r.deliveries("dropped"); len(d) != 1 {
			t.Errorf("dropped: %+v", d)
		}
	})
}

func TestFailedEditOfTheAnswerIsTriedAgainOrSentAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault channelstest.Fault
		want  string // shown, in order
		edits int
	}{
		{"answer lost", channelstest.Fault{LoseAnswer: true}, "[clean]", 2},
		{"request lost", channelstest.Fault{LoseRequest: true}, "[clean]", 2},
		{"limited", channelstest.Fault{RateLimited: true, RetryAfter: 5 * time.Second}, "[clean]", 2},
		{"ill", channelstest.Fault{Refused: "ill", Temporary: true}, "[clean]", 2},
		{"refused", channelstest.Fault{Refused: "too old"}, "[clean]", 1}, // and what is shown is taken back
		{"not there", channelstest.Fault{NoMessage: true}, "[progress clean]", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				edits := 0
				r.onChange(scripted.OpEdit, func(ch scripted.Change) channelstest.Fault {
					if edits++; edits == 1 {
						return c.fault
					}
					return channelstest.Fault{}
				})
				r.agent = acting(func(p play) error {
					return errors.Join(p.plan(0, "Tidy", "sweep"), p.work(0, 0, 4*time.Second), p.answer("clean"))
				})
				r.start()
				r.platform.Say("c1", "ada", "tidy")
				r.settled(1)
				got := texts(r.platform.Sent())
				for i := range got {
					if strings.Contains(got[i], "sweep") {
						got[i] = "progress"
					}
				}
				if fmt.Sprint(got) != c.want || edits != c.edits {
					t.Errorf("shown %q after %d edits, want %s after %d", got, edits, c.want, c.edits)
				}
				if d := r.deliveries("sent")[0]; d.Repeated {
					t.Errorf("an edit is marked as repeated: %+v", d)
				}
			})
		})
	}
}

func TestTypingLastsAsLongAsTheTurn(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.script.TypingFor = 5 * time.Second
		var mu sync.Mutex
		var at []time.Time
		r.onChange(scripted.OpTyping, func(c scripted.Change) channelstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			return channelstest.Fault{}
		})
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "slow" {
				play{ctx: ctx}.pause(18 * time.Second)
			}
			return "re", nil
		}
		r.start()
		r.platform.Say("c1", "ada", "quick")
		r.await(1)
		time.Sleep(time.Minute)
		if n := len(r.platform.Changes(scripted.OpTyping)); n != 0 {
			t.Errorf("typing %d times for an answer at once", n)
		}
		r.platform.Say("c1", "ada", "slow")
		r.await(2)
		time.Sleep(time.Minute)
		r.end()
		if len(at) != 5 {
			t.Fatalf("typing %d times in 18 s", len(at))
		}
		for i := 1; i < len(at); i++ {
			if d := at[i].Sub(at[i-1]); d < 3900*time.Millisecond || d > 4100*time.Millisecond {
				t.Errorf("renewed after %s", d)
			}
		}
	})
}

var _ turns.Agent = acting(nil)
