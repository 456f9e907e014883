package turns_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/routertest"
	"switchboard/router/turns"
	"switchboard/store/database"
)

// A ledger that fails for a while in one of its calls: before anything was done, or
// after it was.
type failingFor struct {
	router.Store
	call  string
	late  bool
	until atomic.Int64 // in Unix ns; 0: for one call
	fails atomic.Int64
}

func (l *failingFor) failed(call string) bool {
	if until := l.until.Load(); call != l.call || until == 0 && l.fails.Load() > 0 || until > 0 && time.Now().UnixNano() > until {
		return false
	}
	l.fails.Add(1)
	return true
}

func (l *failingFor) Absorb(ctx context.Context, ref core.TurnRef, from int) ([]agent.Incoming, error) {
	if !l.late && l.failed("absorb") {
		return nil, database.ErrFull
	}
	list, err := l.Store.Absorb(ctx, ref, from)
	if l.late && len(list) > 0 && l.failed("absorb") {
		return nil, routertest.ErrAnswerLost
	}
	return list, err
}

func (l *failingFor) Backlog(ctx context.Context, ref core.TurnRef, stale time.Duration) ([]turns.Waiting, error) {
	if l.failed("backlog") {
		return nil, database.ErrUnavailable
	}
	return l.Store.Backlog(ctx, ref, stale)
}

// absorbing answers with what it was told, after it merged what came meanwhile, twice; runs
// counts its tries, of which the first alone brings something to merge.
func absorbing(r *rig, runs *atomic.Int64) routertest.Acting {
	return func(p routertest.Play) error {
		state, err := p.Resume(p.Ctx)
		if err != nil {
			return err
		}
		heard := []string{p.Turn.Message.Text}
		for _, m := range state.Added {
			heard = append(heard, m.Text)
		}
		for i := range 2 {
			if runs.Load() == 0 {
				r.Platform.Say("c1", "ada", []string{"second", "third"}[i])
				r.Until("it waits", func() bool { return len(r.Turns()) == 2+i })
			}
			added, err := p.Absorb(p.Ctx, 0)
			if err != nil {
				runs.Add(1)
				return err
			}
			for _, m := range added {
				heard = append(heard, m.Text)
			}
		}
		runs.Add(1)
		return p.Answer(strings.Join(heard, ", "))
	}
}

// A database that cannot merge what waits is no fault of the turn: however long it takes,
// the turn goes on, within one try where it is not for long, and hears each message once.
func TestFailedAbsorbDoesNotStopTheTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late    bool
		lasts   time.Duration
		want    string
		oneTry  bool
		atLeast int64
	}{
		"a full disk":             {lasts: time.Minute, want: "first, second, third", oneTry: true, atLeast: 3},
		"a full disk for long":    {lasts: 15 * time.Minute, want: "first, second", atLeast: 3},
		"a lost answer":           {late: true, want: "first, second, third", oneTry: true, atLeast: 1},
		"lost answers, each time": {late: true, lasts: time.Minute, want: "first, second, third", oneTry: true, atLeast: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				l := &failingFor{call: "absorb", late: c.late}
				if c.lasts > 0 {
					l.until.Store(time.Now().Add(c.lasts).UnixNano())
				}
				r.Store = func(of router.Store) router.Store { l.Store = of; return l }
				r.Config.Busy = "steer"
				var runs atomic.Int64
				r.Agent = absorbing(r, &runs)
				r.Start()
				r.Platform.Say("c1", "ada", "first")
				time.Sleep(c.lasts + time.Minute)
				r.Settled(1)
				if sent := routertest.Texts(r.Platform.Sent()); len(sent) != 1 || sent[0] != c.want {
					t.Errorf("sent %q, want %q", sent, c.want)
				}
				if l.fails.Load() < c.atLeast || c.oneTry && runs.Load() != 1 {
					t.Errorf("%d failures, %d tries of the turn", l.fails.Load(), runs.Load())
				}
			})
		})
	}
}

// The same where a backlog cannot be read: it is offered as soon as it can.
func TestUnreadableBacklogIsOfferedOnceItCanBeRead(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		const lasts = 15 * time.Minute
		l := &failingFor{call: "backlog"}
		l.until.Store(time.Now().Add(lasts).UnixNano())
		r.Store = func(of router.Store) router.Store { l.Store = of; return l }
		r.Platform.Write(routertest.OldMessage("c1", "ada", "first", 3*time.Hour))
		r.Start()
		time.Sleep(lasts + time.Minute)
		r.Settled(1)
		r.Same("the turns", r.Outcomes(), []string{"first: done stale"})
		if l.fails.Load() == 0 {
			t.Error("it never failed")
		}
	})
}
