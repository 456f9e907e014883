package delivery

import (
	"sync"
	"time"
)

const (
	// clockNoise is how far two clocks may be apart before it is taken to be more than
	// the way a message takes.
	clockNoise = time.Minute
	// paceWindow is how long an event speaks for the platform's clock at least: it may be
	// set right, as ours may.
	paceWindow = time.Hour
)

// A pace knows how far the clock of a platform is from ours, as far as events show it
// that came while we listened.
type pace struct {
	mu      sync.Mutex
	known   bool
	begun   time.Duration // how long this program had run when the present window began
	present time.Duration // what its fastest event took; negative: the platform's clock is ahead
	former  time.Duration // and that of the window before
	// zero is when this program's run began, by the wall clock as it is now; a leap of
	// that moves it, and only what was written after leapt speaks for the clocks since.
	zero, leapt time.Time
}

// observe takes an event of the time at, which came now, when this program had run for ran;
// live: we had listened since before it. It returns when that was by our own clock.
func (p *pace) observe(at, now time.Time, ran time.Duration, live bool) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	zero := now.Round(0).Add(-ran)
	if p.zero.IsZero() {
		p.zero = zero
	} else if zero.Sub(p.zero).Abs() > clockNoise {
		p.known, p.zero, p.leapt = false, zero, now
	}
	if live && !at.Before(p.leapt) {
		p.note(now.Sub(at), ran)
	}
	if behind := min(p.present, p.former); p.known && behind.Abs() > clockNoise {
		at = at.Add(behind)
	}
	return at
}

// note adds what an event took. Called under the lock.
func (p *pace) note(took, ran time.Duration) {
	switch {
	case !p.known:
		p.known, p.begun, p.present, p.former = true, ran, took, took
	case ran-p.begun >= paceWindow:
		p.begun, p.present, p.former = ran, took, p.present
	default:
		p.present = min(p.present, took)
	}
}
