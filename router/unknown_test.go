package router_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// A ledger whose first offers fail so, with nothing written.
type failingOffers struct {
	router.Ledger
	mu    sync.Mutex
	fails []error
}

func (l *failingOffers) Offer(ctx context.Context, ref core.TurnRef, merge []int64, step agent.Step, say outbox.Reply) (*core.Claimed, error) {
	l.mu.Lock()
	var err error
	if len(l.fails) > 0 {
		err, l.fails = l.fails[0], l.fails[1:]
	}
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l.Ledger.Offer(ctx, ref, merge, step, say)
}

// A commit that failed leaves no doubt behind once a later one began the part: when the
// platform's answer to that is lost, it may have arrived, and its repeat says so.
func TestRepeatAfterAFailedCommitIsMarkedOnceBegun(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string][]error{
		"contradicted":            {core.ErrConflict},
		"unheard":                 {errAnswerLost},
		"unheard, contradicted":   {errAnswerLost, core.ErrConflict},
		"contradicted for a time": {core.ErrConflict, core.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				l := &failingOffers{fails: fails}
				r.ledger = func(of router.Ledger) router.Ledger { l.Ledger = of; return l }
				r.script.Finder = false
				r.platform.Next(channelstest.Fault{LoseAnswer: true}) // it arrives, and nobody is told
				r.platform.Write(old("c1", "ada", "first", 3*time.Hour))
				r.start()
				r.settled(1)
				if sent := texts(r.platform.Sent()); len(sent) != 2 || !strings.HasPrefix(sent[1], "(repeated) ") || len(l.fails) > 0 {
					t.Errorf("sent %q, %d failures are left", sent, len(l.fails))
				}
			})
		})
	}
}
