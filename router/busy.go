package router

import (
	"sync"
	"time"

	"switchboard/agent"
)

// modeCollect is the busy mode in which a turn waits for more to come.
const modeCollect = "collect"

// followQueue does what the commit of a message beside other turns made possible:
// it looks again when a collected turn is due, wakes somebody for one that waits,
// and breaks off what an edit makes worthless.
func (r *Router) followQueue(turn *AsTurn, acc *Accepted) {
	switch {
	case !acc.NotBefore.IsZero():
		// Counted from here, after the commit: whatever the database's clock says, it
		// is due by then.
		r.due.in(acc.SessionID, turn.CollectWindow)
	case acc.Waiting:
		r.somebodyWaits()
	}
	if acc.Edited == EditRestarts && acc.Steers != 0 {
		r.stop(acc.Steers, agent.ErrRestart)
	}
}

// dueTimers tells when collected turns become due, one timer a session. What was
// collected before this engine began is looked for one window after its start.
type dueTimers struct {
	look func()

	mu     sync.Mutex
	timers map[int64]*time.Timer
}

func newDueTimers(look func()) *dueTimers {
	return &dueTimers{look: look, timers: map[int64]*time.Timer{}}
}

// in looks for work after so long; for a session it knows of, not before.
func (d *dueTimers) in(session int64, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if timer := d.timers[session]; timer != nil && timer.Stop() {
		timer.Reset(after)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		d.mu.Lock()
		if d.timers[session] == timer {
			delete(d.timers, session)
		}
		d.mu.Unlock()
		d.look()
	})
	d.timers[session] = timer
}

// stop forgets what would become due.
func (d *dueTimers) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, timer := range d.timers {
		timer.Stop()
	}
	clear(d.timers)
}
