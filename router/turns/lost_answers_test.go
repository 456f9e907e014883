package turns_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// A losing ledger loses the answer of one call of each kind, after it was committed.
type losing struct {
	router.Store
	mu   sync.Mutex
	lose map[string]int
	lost map[string]int
}

func (l *losing) gone(call string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose[call] == 0 {
		return false
	}
	l.lose[call]--
	l.lost[call]++
	return true
}

func (l *losing) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	list, err := l.Store.Accept(ctx, owner, entries)
	if err == nil && l.gone("accept") {
		return nil, routertest.ErrAnswerLost
	}
	return list, err
}

func (l *losing) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	list, err := l.Store.Claim(ctx, owner, of, except, limit)
	if len(list) > 0 && l.gone("claim") {
		return nil, routertest.ErrAnswerLost
	}
	return list, err
}

func (l *losing) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Store.Commit(ctx, ref, step, says)
	if err == nil && next != nil && l.gone("commit") {
		return nil, routertest.ErrAnswerLost
	}
	return next, err
}

func (l *losing) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	if l.gone("give back") {
		return routertest.ErrAnswerLost
	}
	return l.Store.ReleaseSession(ctx, ref)
}

// What the database committed and could not say leaves no session behind that is leased
// and that nobody runs.
func TestLostAnswersLeaveNoSessionBehind(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"accept", "claim", "commit", "give back"} {
		t.Run(lost, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Config.Workers = 4
				l := &losing{lose: map[string]int{}, lost: map[string]int{}}
				r.Store = func(of router.Store) router.Store { l.Store = of; return l }
				release := r.Brain.Held("elsewhere")
				both, stuck := make(chan struct{}), r.Brain.Think
				r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
					if turn.Message.Text == "one" && (lost == "commit" || lost == "give back") {
						<-both
					}
					return stuck(ctx, turn)
				}
				r.Start()
				if lost == "give back" || lost == "claim" {
					r.Platform.Say("c0", "ada", "elsewhere") // ada's share
					r.Until("it runs", func() bool { return r.Brain.Ran("elsewhere") == 1 })
				}
				l.mu.Lock()
				l.lose[lost] = 1
				l.mu.Unlock()
				want := 2
				switch lost {
				case "accept":
					r.Platform.Say("c1", "ada", "one")
					r.Platform.Say("c1", "ada", "two")
				case "claim":
					r.Platform.Say("c1", "ada", "one") // waits for ada's worker
					r.Until("it waits", func() bool { return len(r.Turns()) == 2 })
					release()
				default:
					for i, user := range []string{"bob", "ada"} {
						if i == 1 {
							want++
						}
						e := routertest.Event(i, "group", user, []string{"one", "two"}[i])
						r.Accept(e)
					}
					close(both)
					if lost == "give back" { // which a worker would spare
						r.Until("it is given back", func() bool {
							l.mu.Lock()
							defer l.mu.Unlock()
							return l.lost[lost] == 1
						})
					}
					time.AfterFunc(time.Second, release)
					want = map[bool]int{true: 2, false: 3}[lost == "commit"]
				}
				sent := r.Await(want)
				for _, text := range []string{"one", "two"} {
					if n := r.Brain.Ran(text); n > 1 {
						t.Errorf("%q ran %d times", text, n)
					}
				}
				if l.lost[lost] != 1 {
					t.Error("no answer was lost")
				}
				if len(sent) != want {
					t.Errorf("sent %q", routertest.Texts(sent))
				}
			})
		})
	}
}

// A ledger that loses the answer of the first call that begins a part.
type losingBegin struct {
	*losing
}

func (l losingBegin) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	d, due, err := l.Store.Begin(ctx, hold, conv)
	if d != nil && l.gone("begin") {
		return nil, time.Time{}, routertest.ErrAnswerLost
	}
	return d, due, err
}

func (l losingBegin) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Store.Commit(ctx, ref, step, says)
	if err == nil && len(says) > 0 && says[0].Open != nil && says[0].Open.Begun != nil && l.gone("open") {
		return nil, routertest.ErrAnswerLost
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
				r.Store = func(of router.Store) router.Store { l.losing.Store = of; return l }
				r.Script.Finder = false
				r.Start()
				r.Until("the channel is held", func() bool { return r.Held() })
				want := "re: hello"
				if lost == "open" {
					r.Platform.Say("c1", "ada", "hello")
				} else {
					r.Platform.Say("c1", "ada", "/nonsense") // answered with no turn
				}
				sent := routertest.Texts(r.Await(1))
				if lost == "open" && !slices.Equal(sent, []string{want}) || len(sent) != 1 || sent[0][0] == '(' {
					t.Errorf("sent %q", sent)
				}
				r.Until("it is settled", func() bool { return len(r.Deliveries("sent")) == 1 })
				if n := len(r.Platform.Tries()); n != 1 || l.lost[lost] != 1 {
					t.Errorf("%d sends, %d answers lost", n, l.lost[lost])
				}
			})
		})
	}
}

// A ledger that loses the first answer to each plan.
type losingPlans struct{ *losing }

func (l losingPlans) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	next, err := l.Store.Commit(ctx, ref, step, says)
	if err == nil && step.Plan != nil && l.gone("plan") {
		return nil, routertest.ErrAnswerLost
	}
	return next, err
}

// However often a commit's answer is lost, the turn goes on behind what was committed:
// that is no fault for which it is given up.
func TestLostAnswersBreakNoTurn(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		const plans = 5
		lost := &losing{lose: map[string]int{"plan": plans}, lost: map[string]int{}}
		r.Store = func(l router.Store) router.Store {
			lost.Store = l
			return losingPlans{lost}
		}
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			state, err := p.Resume(p.Ctx)
			if err != nil {
				return err
			}
			for attempt := len(state.Plans); attempt < plans; attempt++ {
				if err := p.Plan(attempt, "go on", "step"); err != nil {
					return err
				}
			}
			return p.Answer("done")
		})
		r.Start()
		r.Platform.Say("c1", "ada", "go")
		r.Settled(1)
		if sent := routertest.Texts(r.Platform.Sent()); !slices.Equal(sent, []string{"done"}) || lost.lost["plan"] != plans {
			t.Errorf("sent %q, lost %d answers", sent, lost.lost["plan"])
		}
	})
}
