package router

import (
	"sync"
	"time"
)

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
