package engines

import (
	"context"
	"time"

	"switchboard/agent/tools"
)

const (
	// safeFor is how long a renewal allows side effects.
	safeFor = ownerExpires - safetyMargin
	// lockGrace is how long what was begun may go on without the advisory lock: others
	// wait for 6 s before they believe that it is free for good.
	lockGrace = lockFreeFor - safetyMargin
	// watchEvery bounds how late a leap of the wall clock is seen while side effects
	// are under way.
	watchEvery = 500 * time.Millisecond
)

// A moment is an instant by both clocks: time.Now's, which stands still while the
// machine sleeps and never leaps, and the wall's. The zero moment is none.
type moment struct{ ran, wall time.Time }

func now() moment {
	t := time.Now()
	return moment{t, t.Round(0)}
}

func (m moment) never() bool { return m.wall.IsZero() }

// since is how long this process ran from then to m, and how much passed by the
// wall clock.
func (m moment) since(then moment) (ran, wall time.Duration) {
	return m.ran.Sub(then.ran), m.wall.Sub(then.wall)
}

// A guard is a side effect under way.
type guard struct{ end context.CancelCauseFunc }

// Safe says whether a side effect may begin now. On PostgreSQL it is false from
// 3 s before the owner expires until a renewal succeeds, judged by the wall clock
// and by the time this process ran: a machine that slept is not safe. It is false
// too from when the connection with the advisory lock is lost until the lock was
// taken again and the owner renewed under it.
func (e *Engine) Safe() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.safe(e.clock())
}

func (e *Engine) safe(now moment) bool {
	if e.lost {
		return false
	}
	if !e.db.PG() {
		return e.lock.held()
	}
	return e.lostAt.never() && e.mayContinue(now)
}

// mayContinue says whether what was begun may go on.
func (e *Engine) mayContinue(now moment) bool {
	ran, wall := now.since(e.lostAt)
	return !e.lost && safeAfter(now.since(e.renewed)) && (e.lostAt.never() || ran < lockGrace && wall < lockGrace)
}

// safeAfter says whether an owner is safe when this process ran for so long since
// its renewal, and so much passed by the wall clock.
func safeAfter(ran, wall time.Duration) bool {
	return ran < safeFor && wall < safeFor && wall > -time.Second
}

// leapt says whether the wall clock leapt while this process ran for so long.
func leapt(ran, wall time.Duration) bool {
	return wall-ran > safetyMargin || wall-ran < -time.Second
}

// SafeUntil is until when, by the wall clock, side effects may go on unless the
// owner is renewed before; zero: for as long as this program runs (SQLite).
func (e *Engine) SafeUntil() time.Time {
	if !e.db.PG() {
		return time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	until := e.renewed.wall.Add(safeFor)
	if lost := e.lostAt.wall.Add(lockGrace); !e.lostAt.never() && lost.Before(until) {
		until = lost
	}
	return until
}

// Guard returns a context for one side effect. It ends with ctx, and with the cause
// tools.ErrUnsafe 3 s before the owner could be taken for dead, unless it is renewed
// before; where Safe is false it has ended already. Once Safe is true again every
// context that was given out before has ended. The caller calls the function when
// the effect is over.
func (e *Engine) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.safe(e.clock()) {
		cancel(tools.ErrUnsafe)
		return guarded, func() {}
	}
	g := &guard{cancel}
	e.guards[g] = struct{}{}
	if e.watch == nil && e.db.PG() {
		e.watch = time.AfterFunc(e.nextWatch(), e.watched)
	}
	return guarded, func() {
		cancel(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.guards, g)
	}
}

// nextWatch is how long the guards go on for sure.
func (e *Engine) nextWatch() time.Duration {
	now := e.clock()
	ran, _ := now.since(e.renewed)
	next := min(safeFor-ran, watchEvery)
	if !e.lostAt.never() {
		ran, _ = now.since(e.lostAt)
		next = min(next, lockGrace-ran)
	}
	return max(0, next)
}

// watched ends the guards when they may not go on, and looks again otherwise.
func (e *Engine) watched() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.mayContinue(e.clock()) {
		e.endGuards()
	}
	if len(e.guards) == 0 {
		e.watch = nil
		return
	}
	e.watch.Reset(e.nextWatch())
}

func (e *Engine) endGuards() {
	for g := range e.guards {
		g.end(tools.ErrUnsafe)
	}
	clear(e.guards)
}

// begin notes a renewal that succeeded and was begun then. What was begun under a
// former one that ran out ends before anything is safe again.
func (e *Engine) begin(begun moment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost || !begun.ran.After(e.renewed.ran) {
		return
	}
	if !e.renewed.never() && (!e.mayContinue(e.clock()) || leapt(begun.since(e.renewed))) {
		e.endGuards()
	}
	e.renewed = begun
	if e.conn != nil && !e.conn.taken.After(begun.ran) {
		e.lostAt = moment{}
	}
}

// lose ends everything for good.
func (e *Engine) lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost = true
	e.endGuards()
}
