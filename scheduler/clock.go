package scheduler

import (
	"context"
	"sync"
	"time"
)

// leap is how far a clock may go apart from another in a moment before the log says so.
const leap = 2 * time.Second

// A theirClock says the database's time between looks at it.
type theirClock struct {
	mu          sync.Mutex
	at          time.Time // what it said
	asked, read time.Time // between these by our own
}

// set sets the clock to what the database said after it was asked, and returns how far it jumped
// since the last time; 0: it did not.
func (c *theirClock) set(at, asked time.Time) (by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := time.Now()
	if !c.at.IsZero() {
		earliest, latest := c.at.Add(asked.Sub(c.read)), c.at.Add(read.Sub(c.asked))
		switch {
		case at.Before(earliest.Add(-leap)):
			by = at.Sub(earliest)
		case at.After(latest.Add(leap)):
			by = at.Sub(latest)
		}
	}
	c.at, c.asked, c.read = at, asked, read
	return by
}

func (c *theirClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Add(time.Since(c.read))
}

// rearm has jobs that ran while the clock was ahead go on from now. A slot that they ran then has its row, and does not
// run again; it would count, so a job that runs a number of times waits until the time the clock had reached. Runs
// that wait since then to start do so now, or after the pause before their try: others wait for them to end.
func (s *Scheduler) rearm(ctx context.Context, now time.Time) error {
	for after, n := int64(0), batch; n == batch; {
		jobs, err := s.Store.JobsAhead(ctx, now, after, batch)
		if err != nil {
			return err
		}
		n = len(jobs)
		var claims []Claim
		for _, job := range jobs {
			was := job.Slot
			after = job.ID
			if job.Arm(now); job.Spec.Most == 0 && !job.Slot.IsZero() && job.Slot.Before(was) {
				claims = append(claims, Claim{Job: job, Slot: job.Slot, Due: job.Due})
			}
		}
		if err := s.Store.Claim(ctx, claims); err != nil {
			return err
		}
	}
	latest := []time.Time{now}
	for _, pause := range pauses {
		latest = append(latest, now.Add(pause))
	}
	return s.Store.StartBy(ctx, latest)
}
