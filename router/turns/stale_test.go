package turns_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// codeIn is the code of a button that was shown in conv.
func (r *rig) codeIn(conv, label string) string {
	for _, try := range r.Platform.Tries() {
		for _, b := range try.Buttons {
			if string(try.Conversation) == conv && b.Label == label {
				return b.Code
			}
		}
	}
	r.T.Fatalf("no button %s was shown in %s", label, conv)
	return ""
}

// What was asked hours ago, and nobody worked on, is not answered as if nothing had
// been: the person is asked, once for all of it, and no model is.
func TestStaleBacklogIsOffered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons = true, true
		r.Platform.Write(routertest.OldMessage("c1", "ada", "first", 3*time.Hour))
		r.Platform.Write(routertest.OldMessage("c1", "ada", "second _one_", 2*time.Hour))
		r.Platform.Write(routertest.OldMessage("c2", "bob", "only", 40*time.Minute))
		r.Start()
		r.Await(2)
		r.AllEnded()
		r.Same("the turns", r.Outcomes(), []string{"first: done stale", "second _one_: merged stale", "only: done stale"})
		offer := r.Platform.SentIn("c1")
		if len(offer) != 1 || !strings.Contains(offer[0].Text, "3 hours ago: “first”") ||
			!strings.Contains(offer[0].Text, "2 hours ago: “second _one_”") || !strings.Contains(offer[0].Text, "Shall I still do them?") {
			t.Errorf("offered %q", routertest.Texts(offer))
		}
		if one := r.Platform.SentIn("c2")[0].Text; !strings.Contains(one, "You wrote this 40 minutes ago") {
			t.Errorf("offered %q", one)
		}
		if n := r.Brain.Ran("first") + r.Brain.Ran("only"); n != 0 {
			t.Errorf("the agent was asked %d times", n)
		}
		// In time again, all is as ever.
		r.Platform.Say("c1", "ada", "now")
		r.Shows(3, "re: now")
		r.Toasts(r.Platform.Press("c1", "bob", "Go on"), "This is not for you.")
		r.Toasts(r.Platform.Press("c1", "ada", "Go on"), "")
		r.Shows(4, "re: first\n\nsecond one")
		r.Toasts(r.Platform.PressCode("c1", "ada", string(offer[0].ID), r.codeIn("c1", "Go on")), "That question was answered already.")
		r.Toast(r.Platform.Press("c2", "bob", "Leave it"))
		r.Shows(5, "All right, I'll leave it.")
		r.AllEnded()
		r.Same("the turns", r.Outcomes(), []string{
			"first: done stale", "second _one_: merged stale", "only: done stale", "now: done answered", "Go on: done answered",
		})
	})
}

// A choice can be typed as well; an offer that a reset came after is forgotten.
func TestStaleOfferIsTypedOrForgottenByReset(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.Write(routertest.OldMessage("c1", "ada", "first", 3*time.Hour))
		r.Platform.Write(routertest.OldMessage("c2", "bob", "second", 3*time.Hour))
		r.Start()
		r.Await(2)
		r.AllEnded()
		r.Platform.Say("c1", "ada", "go on")
		r.Shows(3, "re: first")
		r.Platform.Say("c2", "bob", "/reset")
		r.Await(4)
		r.Platform.Say("c2", "bob", "1")
		r.Await(5)
		if got := r.Platform.SentIn("c2"); !strings.Contains(routertest.Texts(got)[len(got)-1], "no longer have that message") {
			t.Errorf("after the reset: %q", routertest.Texts(got))
		}
		r.AllEnded()
		r.HasTurns(3)
	})
}

// Commands of a backlog are applied at once; what they concern is not offered, and the
// rest still is.
func TestStaleCommandsAreAppliedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.Write(routertest.OldMessage("c1", "ada", "never mind", 3*time.Hour))
		r.Platform.Write(routertest.OldMessage("c1", "ada", "/cancel", 3*time.Hour-time.Minute))
		r.Platform.Write(routertest.OldMessage("c1", "ada", "but this", 2*time.Hour))
		r.Start()
		r.Await(2)
		r.AllEnded()
		sent := routertest.Texts(r.Platform.Sent())
		if r.Brain.Ran("but this") != 0 || len(sent) != 2 || strings.Contains(sent[1], "never mind") || !strings.Contains(sent[1], "but this") {
			t.Errorf("sent %q, turns %q", sent, r.Outcomes())
		}
	})
}

// In a group each person is asked for their own.
func TestStaleInAGroupIsOfferedToEachPerson(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, m := range []scripted.Message{
			routertest.OldMessage("g1", "ada", "one", 3*time.Hour), routertest.OldMessage("g1", "bob", "two", 3*time.Hour), routertest.OldMessage("g1", "ada", "three", 3*time.Hour),
		} {
			m.Kind, m.Mentioned = "group", true
			r.Platform.Write(m)
		}
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		r.Await(2)
		r.AllEnded()
		r.Same("the turns", r.Outcomes(), []string{"one: done stale", "two: done stale", "three: merged stale"})
	})
}

// A session that was only busy is not stale.
func TestBusyIsNotStale(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.StaleAfter = 8 * time.Second // no machine is that slow to begin a turn
		release := r.Brain.Held("busy")
		r.Start()
		r.Begins("c1", "ada", "busy")
		r.Platform.Say("c1", "ada", "waits")
		time.Sleep(r.Config.StaleAfter + 500*time.Millisecond)
		release()
		r.Same("the answers", routertest.Texts(r.Await(2)), []string{"re: busy", "re: waits"})
	})
}

// The clock of a platform may be wrong: what it tells while we listen is no older than
// that.
func TestMessageWithAWrongClockIsNotStale(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Write(routertest.OldMessage("c1", "ada", "from tomorrow", -24*time.Hour))
		r.Shows(1, "re: from tomorrow")
	})
}

// A turn that was cut off and taken up long after says so, and the time it lay there
// does not count against it.
func TestLateAnswerSaysSo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.StaleAfter = 8 * time.Second // no machine is that slow to begin a turn
		began := make(chan struct{}, 1)
		var started time.Time
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			began <- struct{}{}
			started = turn.StartedAt
			<-ctx.Done()
			return "", agent.ErrReleased
		}
		r.Start()
		r.Platform.Say("c1", "ada", "long")
		<-began
		r.End()
		first := started
		time.Sleep(r.Config.StaleAfter + 500*time.Millisecond)
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			started = turn.StartedAt
			return "here", nil
		}
		r.Start()
		r.Shows(1, "This comes late: I was away for a moment.\n\nhere")
		if away := started.Sub(first); away < r.Config.StaleAfter+300*time.Millisecond {
			t.Errorf("its time began %s later", away)
		}
	})
}

// An answer that is shown while it is written begins as it will: nothing is put above what
// was read already.
func TestLateAnswerSaysSoFromTheBeginning(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Config.StaleAfter = time.Minute
		began := make(chan struct{}, 1)
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			began <- struct{}{}
			<-p.Ctx.Done()
			return agent.ErrReleased
		})
		r.Start()
		r.Platform.Say("c1", "ada", "long")
		<-began
		r.End()
		time.Sleep(20 * time.Minute)
		var shown []string
		r.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
			shown = append(shown, c.Text)
			return channelstest.Fault{}
		})
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			p.Stream("")
			return p.Answer(p.Write("so it is here", 3*time.Second))
		})
		r.Start()
		r.Settled(1)
		const late = "This comes late: I was away for 20 minutes.\n\n"
		if len(shown) < 2 {
			t.Errorf("shown %q", shown)
		}
		for _, text := range shown[1:] { // the first shows nothing yet
			if !strings.HasPrefix(text, late+"so") {
				t.Errorf("shown %q", text)
			}
		}
		if got := r.Platform.Sent(); len(got) != 1 || got[0].Text != late+"so it is here" {
			t.Errorf("sent %+v", got)
		}
	})
}

// A part that could not be sent for long says that it is late.
func TestLatePartSaysSo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.StaleAfter = 10 * time.Second // which the turn itself is not away for
		r.Store = func(l router.Store) router.Store { return lateLedger{l} }
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(1, "(20 minutes late) re: hello")
		if d := r.Deliveries("")[0]; d.Text != "re: hello" {
			t.Errorf("kept %q", d.Text)
		}
	})
}

// lateLedger finds every part written long ago.
type lateLedger struct{ router.Store }

func (l lateLedger) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	for i := range says {
		says[i].Open = nil
	}
	return l.Store.Commit(ctx, ref, step, says)
}

func (l lateLedger) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	d, due, err := l.Store.Begin(ctx, hold, conv)
	if d != nil {
		d.Written = d.Written.Add(-20 * time.Minute)
	}
	return d, due, err
}

// Who is away is not asked whether they still want what they wrote: their turn waits for them.
func TestWhoIsAwayIsOfferedNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Store = func(l router.Store) router.Store { return unclaimed{l} }
		r.Platform.Write(routertest.OldMessage("c1", "bob", "only", 40*time.Minute))
		r.Start()
		r.Until("it is kept", func() bool { return len(r.Turns()) == 1 })
		r.End()
		everybody := r.People
		r.Store, r.People, r.Agent = nil, r.People[:1], parks{}
		r.Start()
		r.Until("its turn waits", func() bool { return r.Outcomes()[0] == "only: waiting person_away" })
		if sent := r.Platform.Sent(); len(sent) != 0 {
			t.Errorf("shown are %q", routertest.Texts(sent))
		}
		r.End()
		r.People, r.Agent = everybody, nil
		r.Start()
		r.Until("they are asked now", func() bool { return len(r.Platform.Sent()) == 1 })
	})
}

// unclaimed is a database whose turns nobody begins.
type unclaimed struct{ router.Store }

func (u unclaimed) Claim(context.Context, int64, []string, []string, int) ([]core.Claimed, error) {
	return nil, nil
}

func (u unclaimed) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	for _, entry := range entries {
		if turn, ok := entry.Intent.(*intake.TurnIntent); ok {
			turn.MayClaim = false
		}
	}
	return u.Store.Accept(ctx, owner, entries)
}

// parks is an agent whose person is away.
type parks struct{}

func (parks) Run(ctx context.Context, _ agent.Turn, j agent.Journal) error {
	if _, err := j.Resume(ctx); err != nil {
		return err
	}
	return j.Commit(ctx, agent.Step{End: &agent.End{State: "waiting", Outcome: agent.OutcomePersonAway}})
}

// Clocks differ: what seems to be written just before the first start is answered, and a first start
// that lies ahead leaves nobody without an answer.
func TestWhatIsTooEarlyAllowsForClocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first    time.Duration // from now
		answered bool
	}{
		"long before":     {-time.Minute, false},
		"just before":     {-100 * time.Second, true},
		"clock was ahead": {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.FirstStart = time.Now().Add(c.first)
				r.Start()
				r.Platform.Write(routertest.OldMessage("c1", "bob", "hello", 2*time.Minute))
				r.Platform.Write(routertest.OldMessage("c1", "bob", "now", 0))
				want := []string{"now: done answered"}
				if c.answered {
					want = []string{"hello: done answered", "now: done answered"}
				}
				r.Await(len(want))
				r.Same("the turns", r.Outcomes(), want)
			})
		})
	}
}
