package outbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// writing is an agent that streams its answer so.
func writing(text string, each time.Duration) routertest.Acting {
	return func(p routertest.Play) error { return p.Answer(p.Write(text, each)) }
}

// numbered is a text of n words.
func numbered(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", i)
	}
	return strings.Join(words, " ")
}

// The text is shown while it grows, no faster than the channel likes, in one message
// that becomes the answer.
func TestStreamGrowsIntoTheAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var at []time.Time
		var rows []string
		r.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			at = append(at, time.Now())
			row := "no row"
			if list := r.drafts(); len(list) == 1 {
				row = string(list[0].Stage) + " " + string(list[0].PlatformID)
			}
			rows = append(rows, row)
			return channelstest.Fault{Delay: 100 * time.Millisecond}
		})
		text := numbered(30)
		r.Agent = writing(text, 250*time.Millisecond)
		r.Start()
		r.Platform.Say("c1", "ada", "count")
		r.Settled(1)
		sent := r.Platform.Sent()
		if len(sent) != 1 || sent[0].Text != text || sent[0].Draft || sent[0].Edits == 0 {
			t.Fatalf("shown %+v", sent)
		}
		drafts := drafted(r)
		if len(drafts) < 5 || len(drafts) > 8 {
			t.Errorf("%d drafts in 7.5 s", len(drafts))
		}
		for i, d := range drafts {
			if i == 0 && d != "…" {
				t.Errorf("draft %q is first, and nobody could look it up", d)
			}
			if i > 0 && !strings.HasPrefix(text, d) || i > 1 && len(d) <= len(drafts[i-1]) {
				t.Errorf("draft %d does not grow: %q", i, d)
			}
			if i > 1 && at[i].Sub(at[i-1]) < time.Second {
				t.Errorf("draft %d came %s after the one before", i, at[i].Sub(at[i-1]))
			}
			if i > 0 && i == len(drafts)-1 && rows[i] == "no row" {
				continue // it was begun at the instant at which the answer took its place
			}
			if want := "shown " + string(sent[0].ID); i > 0 && rows[i] != want || rows[0] != "begun " {
				t.Errorf("draft %d is %q in the ledger, want %q", i, rows[i], want)
			}
		}
		if left := r.drafts(); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

// The text stands where the plan stood, and what is taken back gives way to it again.
func TestStreamReplacesThePlan(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			err := errors.Join(p.Plan(0, "Tidy", "sweep"), p.Work(0, 0, 3*time.Second))
			p.Stream("It is")
			p.Pause(3 * time.Second)
			p.Stream("") // refused
			p.Pause(3 * time.Second)
			p.Stream("Now it")
			p.Pause(3 * time.Second)
			return errors.Join(err, p.Answer("Now it is clean"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Settled(1)
		var got []string
		for _, d := range drafted(r) {
			if strings.Contains(d, "sweep") {
				d = "plan"
			}
			if len(got) == 0 || got[len(got)-1] != d {
				got = append(got, d)
			}
		}
		if want := "[plan It is plan Now it]"; fmt.Sprint(got) != want {
			t.Errorf("shown %q, want %s", got, want)
		}
		r.Reads("Now it is clean")
	})
}

// With no plan to go back to, a text that was taken back leaves no trace of itself.
func TestStreamIsTakenBack(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			p.Stream("a mistake")
			p.Pause(3 * time.Second)
			p.Stream("")
			p.Pause(3 * time.Second)
			r.Reads("…")
			return p.Answer("right")
		})
		r.Start()
		r.Platform.Say("c1", "ada", "ask")
		r.Settled(1)
		r.Reads("right")
	})
}

// Of a text that is longer than one message its end is shown; the answer has all of it.
func TestLongStreamShowsItsEnd(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.MaxText = 120
		text := numbered(60)
		r.Agent = writing(text, 200*time.Millisecond)
		r.Start()
		r.Platform.Say("c1", "ada", "count")
		r.Until("it is answered", func() bool { return len(r.Platform.Sent()) > 1 && !r.Platform.Sent()[0].Draft })
		r.Settled(len(r.Platform.Sent()))
		turned := false
		for _, d := range drafted(r)[1:] { // the first shows nothing yet
			words := strings.Fields(strings.TrimPrefix(d, "… "))
			if !strings.Contains(text, strings.Join(words, " ")) || len(d) > 125 {
				t.Errorf("draft %q", d)
			}
			turned = turned || strings.HasPrefix(d, "… ")
			if turned != strings.HasPrefix(d, "… ") || turned == strings.Contains(d+" ", "w0 ") {
				t.Errorf("draft %q does not follow the text", d)
			}
		}
		if got := strings.Join(routertest.Texts(r.Platform.Sent()), " "); !turned || got != text {
			t.Errorf("shown %q, turned %t", got, turned)
		}
	})
}

// An answer within a second and a half is not shown before it is there.
func TestQuickStreamIsNotShown(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Agent = writing(numbered(10), 120*time.Millisecond)
		r.Start()
		r.Platform.Say("c1", "ada", "count")
		r.Settled(1)
		if d := drafted(r); len(d) != 0 || len(r.Deliveries("dropped")) != 0 {
			t.Errorf("drafts %q", d)
		}
	})
}

// A call about the draft is under way when the answer is there: the answer waits a
// moment for it and takes its place; a call that takes longer is cut off, what it may
// change is taken back, and the answer goes out again.
func TestAnswerWaitsAMomentForACallUnderWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		nth    int // the draft call that is slow
		takes  time.Duration
		within time.Duration
		edits  int
		stays  bool   // what it showed is not found
		row    string // outcome of the draft left behind; empty: none is
	}{
		{"an edit, soon over", 2, 200 * time.Millisecond, 300 * time.Millisecond, 2, false, ""},
		{"an edit that hangs", 2, time.Hour, 400 * time.Millisecond, 0, false, "taken_back"},
		{"the first call, over later", 1, 3 * time.Second, 100 * time.Millisecond, 0, false, "taken_back"},
		{"the first call, hanging", 1, time.Hour, 100 * time.Millisecond, 0, false, "left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				n := 0
				slow := make(chan struct{}, 1)
				r.OnChange(scripted.OpDraft, func(ch scripted.Change) channelstest.Fault {
					if n++; n == c.nth {
						slow <- struct{}{}
						return channelstest.Fault{Delay: c.takes}
					}
					return channelstest.Fault{}
				})
				var said time.Time
				r.Agent = routertest.Acting(func(p routertest.Play) error {
					p.Stream("the")
					p.Pause(2 * time.Second)
					p.Stream("the answer")
					<-slow
					p.Pause(50 * time.Millisecond)
					said = time.Now()
					return p.Answer("the answer is")
				})
				if c.nth == 1 {
					r.Agent = routertest.Acting(func(p routertest.Play) error {
						p.Stream("the")
						<-slow
						said = time.Now()
						return p.Answer("the answer is")
					})
				}
				var shown time.Duration
				r.Start()
				r.Platform.Say("c1", "ada", "ask")
				r.Until("it is answered", func() bool {
					for _, s := range r.Platform.Sent() {
						if s.Text == "the answer is" {
							shown = time.Since(said)
							return true
						}
					}
					return false
				})
				time.Sleep(20 * time.Second)
				if shown > c.within {
					t.Errorf("the answer came after %s", shown)
				}
				sent := r.Platform.Sent()
				if len(sent) != 1 || sent[0].Text != "the answer is" || (sent[0].Edits > 0) != (c.edits > 0) {
					t.Errorf("shown %+v", sent)
				}
				dropped := r.Deliveries("dropped")
				if c.row == "" && len(dropped) > 0 || c.row != "" && (len(dropped) != 1 || dropped[0].Outcome != c.row) {
					t.Errorf("dropped %+v, want %q", dropped, c.row)
				}
				r.End()
			})
		})
	}
}

// drafts are the drafts of the channel that something is to be done about.
func (r *rig) drafts() []outbox.Draft {
	r.T.Helper()
	list, err := r.DB.Router().Drafts(r.T.Context(), r.Name)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// A draft that the platform surely did not take is no doubt: it is shown when the
// platform says so, and in a conversation of few messages it uses half of them.
func TestStreamKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault channelstest.Fault
		after time.Duration // of the first try
	}{
		{"limited", channelstest.Fault{RateLimited: true, RetryAfter: 5 * time.Second}, 5 * time.Second},
		{"ill", channelstest.Fault{Refused: "ill", Temporary: true}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				r.Channel.Rate = "default"
				r.Script.PerSecond, r.Script.PerConversationSecond, r.Script.PerConversationMinute = 30, 1, 20
				var at []time.Time
				r.OnChange(scripted.OpDraft, func(ch scripted.Change) channelstest.Fault {
					if at = append(at, time.Now()); len(at) == 1 {
						return c.fault
					}
					return channelstest.Fault{}
				})
				text := numbered(150)
				r.Agent = writing(text, 300*time.Millisecond)
				r.Start()
				r.Platform.Say("c1", "ada", "count")
				r.Settled(1)
				if sent := r.Platform.Sent(); len(sent) != 1 || sent[0].Text != text || sent[0].Edits == 0 {
					t.Errorf("shown %q", routertest.Texts(sent))
				}
				if len(at) < 8 || len(at) > 12 {
					t.Errorf("%d drafts in 45 s of a minute with 20 messages", len(at))
				} else if d := at[1].Sub(at[0]); d < c.after || d > c.after+2*time.Second {
					t.Errorf("shown %s after it was refused", d)
				}
				if d := r.Deliveries("dropped"); len(d) != 0 {
					t.Errorf("dropped %+v", d)
				}
			})
		})
	}
}

// A draft whose first call got no answer is forgotten when its turn is over: nobody can
// do anything about it.
func TestLostDraftsAreForgotten(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Platform.OnChange(func(c scripted.Change) channelstest.Fault {
			return channelstest.Fault{LoseAnswer: c.Op == scripted.OpDraft}
		})
		r.Agent = writing(numbered(20), 250*time.Millisecond)
		r.Start()
		for i := range 3 {
			r.Platform.Say(fmt.Sprintf("c%d", i), "ada", "count")
		}
		r.Until("they are shown", func() bool { return r.Router.Connections.Connection(r.Name).Presented() == 3 })
		time.Sleep(30 * time.Second)
		if n := len(r.Deliveries("sent")); n != 3 {
			t.Errorf("%d answers", n)
		}
		if n := r.Router.Connections.Connection(r.Name).Presented(); n != 0 {
			t.Errorf("%d are kept", n)
		}
	})
}
