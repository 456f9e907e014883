package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
	"switchboard/router/turns"
)

func drafted(r *rig) []string {
	var list []string
	for _, c := range r.Platform.Changes(scripted.OpDraft) {
		list = append(list, c.Text)
	}
	return list
}

func TestProgressAppearsAndBecomesTheAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var began, shown time.Time
		r.Platform.OnChange(func(c scripted.Change) channelstest.Fault {
			if c.Op == scripted.OpDraft && shown.IsZero() {
				shown = time.Now()
			}
			return channelstest.Fault{}
		})
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			began = time.Now()
			return errors.Join(p.Plan(0, "Tidy the *house*", "sweep", "wash"), p.Work(0, 0, 4*time.Second), p.Work(0, 1, 4*time.Second), p.Answer("clean"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Settled(1)
		sent := r.Platform.Sent()
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
		if edits := r.Platform.Changes(scripted.OpEdit); len(edits) != 1 || edits[0].ID != sent[0].ID {
			t.Errorf("edits %+v", edits)
		}
		if left := r.Deliveries("draft"); len(left) != 0 {
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
				c.set(&r.Script)
				r.Agent = routertest.Acting(func(p routertest.Play) error {
					err := p.Plan(0, "Tidy", c.steps...)
					p.Pause(c.takes)
					return errors.Join(err, p.Answer("clean"))
				})
				r.Start()
				r.Platform.Say("c1", "ada", "tidy")
				r.Settled(1)
				if d := drafted(r); len(d) != 0 {
					t.Errorf("drafts %q", d)
				}
			})
		})
	}
}

func TestProgressIsSlowAndTheLatestWins(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.DraftEvery = 3 * time.Second
		var at []time.Time
		r.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			at = append(at, time.Now())
			return channelstest.Fault{}
		})
		steps := make([]string, 30)
		for i := range steps {
			steps[i] = fmt.Sprintf("step %d", i)
		}
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			err := p.Plan(0, "Many", steps...)
			for i := range steps {
				err = errors.Join(err, p.Work(0, i, 400*time.Millisecond))
			}
			p.Pause(4 * time.Second)
			return errors.Join(err, p.Answer("done"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "go")
		r.Settled(1)
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
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			err := errors.Join(p.Plan(0, "First", "try"), p.Work(0, 0, 5*time.Second), p.Say("that failed, trying otherwise"))
			p.Pause(5 * time.Second) // the planner thinks
			return errors.Join(err, p.Plan(1, "Second", "try again"), p.Work(1, 0, 5*time.Second), p.Answer("done"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "go")
		r.Settled(2)
		r.Reads("that failed, trying otherwise", "done")
		var second bool
		for _, c := range r.Platform.Changes(scripted.OpDraft) {
			second = second || strings.Contains(c.Text, "Second") && !strings.Contains(c.Text, "First")
		}
		if !second {
			t.Errorf("the second plan was not shown: %q", drafted(r))
		}
		for _, s := range r.Platform.Sent() {
			if s.Edits == 0 {
				t.Errorf("%q was not shown in a draft's place", s.Text)
			}
		}
		if left := r.Deliveries("draft"); len(left) != 0 {
			t.Errorf("drafts left: %+v", left)
		}
	})
}

func TestDraftIsARowBeforeItIsSentAndOutlivesTheEngine(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var missing []string
		r.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			if rows := r.Deliveries("draft"); len(rows) != 1 || c.ID != "" && rows[0].PlatformID != string(c.ID) {
				missing = append(missing, fmt.Sprintf("%s: %+v", c.Text, rows))
			}
			return channelstest.Fault{}
		})
		runs := 0
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			runs++
			if runs == 1 {
				err := errors.Join(p.Plan(0, "Tidy", "sweep", "wash"), p.Work(0, 0, 3*time.Second), p.Work(0, 1, time.Hour))
				if errors.Is(err, agent.ErrReleased) {
					return agent.ErrReleased
				}
				return err
			}
			p.Pause(3 * time.Second)
			return errors.Join(p.State(0, 1, agent.TaskDone), p.Answer("clean"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Until("it is shown", func() bool { return len(r.Platform.Sent()) == 1 && r.Platform.Sent()[0].Edits > 0 })
		r.End()
		r.Start()
		r.Settled(1)
		if got := r.Platform.Sent(); len(got) != 1 || got[0].Text != "clean" || runs != 2 {
			t.Errorf("shown %q after %d runs", routertest.Texts(got), runs)
		}
		if len(missing) > 0 {
			t.Errorf("sent with no row: %q", missing)
		}
	})
}

func TestHangingPlatformDelaysNothing(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Platform.OnChange(func(c scripted.Change) channelstest.Fault {
			return channelstest.Fault{Delay: 24 * time.Hour} // typing, drafts, edits: all hang
		})
		var mu sync.Mutex // two turns run at once
		took := map[string]time.Duration{}
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			began := time.Now()
			err := errors.Join(p.Plan(0, "Tidy", "sweep"), p.Work(0, 0, 4*time.Second), p.Say("half"), p.Answer("clean"))
			mu.Lock()
			defer mu.Unlock()
			took[p.Turn.Message.Text] = time.Since(began)
			return err
		})
		r.Start()
		began := time.Now()
		r.Platform.Say("c1", "ada", "tidy")
		r.Platform.Say("c2", "bob", "too")
		sent := r.Await(4)
		d := time.Since(began)
		r.End()
		if d > 4500*time.Millisecond {
			t.Errorf("the answers took %s", d)
		}
		for text, d := range took {
			if d > 4100*time.Millisecond {
				t.Errorf("the turn %q took %s", text, d)
			}
		}
		if got := routertest.Texts(sent); strings.Count(fmt.Sprint(got), "clean") != 2 {
			t.Errorf("shown %q", got)
		}
		if len(r.Platform.Changes(scripted.OpDraft)) == 0 || len(r.Platform.Changes(scripted.OpTyping)) == 0 {
			t.Error("nothing hung")
		}
	})
}

// A draft whose call broke off may still overwrite what is shown, so that the answer
// does not take its place.
func TestDraftWhoseCallBrokeOffIsLeftBehind(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		n := 0
		r.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			n++
			return channelstest.Fault{LoseAnswer: n == 2}
		})
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			return errors.Join(p.Plan(0, "Tidy", "sweep", "wash"), p.Work(0, 0, 4*time.Second), p.Work(0, 1, 4*time.Second), p.Answer("clean"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Until("it is answered, and the draft taken back", func() bool {
			got := r.Platform.Sent()
			return len(got) == 1 && got[0].Text == "clean"
		})
		r.End()
		if s := r.Platform.Sent()[0]; s.Edits != 0 || n != 2 {
			t.Errorf("%d edits, %d drafts", s.Edits, n)
		}
		if d := r.Deliveries("dropped"); len(d) != 1 {
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
				r.OnChange(scripted.OpEdit, func(ch scripted.Change) channelstest.Fault {
					if edits++; edits == 1 {
						return c.fault
					}
					return channelstest.Fault{}
				})
				r.Agent = routertest.Acting(func(p routertest.Play) error {
					return errors.Join(p.Plan(0, "Tidy", "sweep"), p.Work(0, 0, 4*time.Second), p.Answer("clean"))
				})
				r.Start()
				r.Platform.Say("c1", "ada", "tidy")
				r.Settled(1)
				got := routertest.Texts(r.Platform.Sent())
				for i := range got {
					if strings.Contains(got[i], "sweep") {
						got[i] = "progress"
					}
				}
				if fmt.Sprint(got) != c.want || edits != c.edits {
					t.Errorf("shown %q after %d edits, want %s after %d", got, edits, c.want, c.edits)
				}
				if d := r.Deliveries("sent")[0]; d.Repeated {
					t.Errorf("an edit is marked as repeated: %+v", d)
				}
			})
		})
	}
}

func TestTypingLastsAsLongAsTheTurn(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.TypingFor = 5 * time.Second
		var mu sync.Mutex
		var at []time.Time
		r.OnChange(scripted.OpTyping, func(c scripted.Change) channelstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			return channelstest.Fault{}
		})
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "slow" {
				routertest.NewPlay(ctx, agent.Turn{}, nil).Pause(18 * time.Second)
			}
			return "re", nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "quick")
		r.Await(1)
		time.Sleep(time.Minute)
		if n := len(r.Platform.Changes(scripted.OpTyping)); n != 0 {
			t.Errorf("typing %d times for an answer at once", n)
		}
		r.Platform.Say("c1", "ada", "slow")
		r.Await(2)
		time.Sleep(time.Minute)
		r.End()
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

var _ turns.Agent = routertest.Acting(nil)
