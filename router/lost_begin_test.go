package router_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// A ledger that loses the answer of the first call that begins a part.
type losingBegin struct {
	*losing
}

func (l losingBegin) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	d, due, err := l.Ledger.Begin(ctx, hold, conv)
	if d != nil && l.gone("begin") {
		return nil, time.Time{}, errAnswerLost
	}
	return d, due, err
}

func (l losingBegin) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Ledger.Commit(ctx, ref, step, says)
	if err == nil && len(says) > 0 && says[0].Open != nil && says[0].Open.Begun != nil && l.gone("open") {
		return nil, errAnswerLost
	}
	return next, err
}

// A part that was begun by a call whose answer was lost was surely not sent: it goes
// once, and is not called a repetition.
func TestPartWhoseBeginWasLostIsSentOnceUnmarked(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"begin", "open"} {
		t.Run(lost, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				l := losingBegin{&losing{lose: map[string]int{lost: 1}, lost: map[string]int{}}}
				r.ledger = func(of router.Ledger) router.Ledger { l.losing.Ledger = of; return l }
				r.script.Finder = false
				r.start()
				r.until("the channel is held", func() bool { return r.held() })
				want := "re: hello"
				if lost == "open" {
					r.platform.Say("c1", "ada", "hello")
				} else {
					r.platform.Say("c1", "ada", "/nonsense") // answered with no turn
				}
				sent := texts(r.await(1))
				if lost == "open" && !slices.Equal(sent, []string{want}) || len(sent) != 1 || sent[0][0] == '(' {
					t.Errorf("sent %q", sent)
				}
				r.until("it is settled", func() bool { return len(r.deliveries("sent")) == 1 })
				if n := len(r.platform.Tries()); n != 1 || l.lost[lost] != 1 {
					t.Errorf("%d sends, %d answers lost", n, l.lost[lost])
				}
			})
		})
	}
}

// A ledger that loses the first answer to each plan.
type losingPlans struct{ *losing }

func (l losingPlans) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Ledger.Commit(ctx, ref, step, says)
	if err == nil && step.Plan != nil && l.gone("plan") {
		return nil, errAnswerLost
	}
	return next, err
}

// However often a commit's answer is lost, the turn goes on behind what was committed:
// that is no fault for which it is given up.
func TestLostAnswersBreakNoTurn(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		const plans = 5
		lost := &losing{lose: map[string]int{"plan": plans}, lost: map[string]int{}}
		r.ledger = func(l router.Ledger) router.Ledger {
			lost.Ledger = l
			return losingPlans{lost}
		}
		r.agent = acting(func(p play) error {
			state, err := p.Resume(p.ctx)
			if err != nil {
				return err
			}
			for attempt := len(state.Plans); attempt < plans; attempt++ {
				if err := p.plan(attempt, "go on", "step"); err != nil {
					return err
				}
			}
			return p.answer("done")
		})
		r.start()
		r.platform.Say("c1", "ada", "go")
		r.settled(1)
		if sent := texts(r.platform.Sent()); !slices.Equal(sent, []string{"done"}) || lost.lost["plan"] != plans {
			t.Errorf("sent %q, lost %d answers", sent, lost.lost["plan"])
		}
	})
}
