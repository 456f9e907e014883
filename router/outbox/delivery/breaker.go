package delivery

import (
	"time"

	"switchboard/internal/retry"
)

// probeAtMost is how long a channel whose breaker is open waits for the end of one send before
// it tries another.
const probeAtMost = 5 * time.Second

// A breaker is the circuit breaker of a whole channel. Each failure opens it, longer every time,
// and after the pause one send at a time is tried until the platform answers one: what
// has not been tried is not unknown either.
type breaker struct {
	opened int       // times in a row; 0: it is closed
	since  time.Time // when the latest of them began
	probe  time.Time // until when the end of one send is awaited; zero: none is under way
}

func (b *breaker) wait(now time.Time) time.Duration {
	if b.opened == 0 {
		return 0
	}
	return max(b.probe.Sub(now), 0)
}

func (b *breaker) take(now time.Time) {
	if b.opened > 0 {
		b.probe = now.Add(probeAtMost)
	}
}

// probed notes that the probe is over, if there is one.
func (b *breaker) probed() (was bool) {
	was = !b.probe.IsZero()
	b.probe = time.Time{}
	return was
}

// failed notes that a send which began then failed for the whole channel, and opens the breaker
// until then. A send that began before it last opened failed of the same cause, and is no news.
func (l *limits) failed(began, now time.Time) (until time.Time, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !began.After(l.breaker.since) {
		return l.whole.until, false
	}
	until = now.Add(retry.Pause(l.breaker.opened, retryMin, retryMax))
	l.breaker = breaker{opened: l.breaker.opened + 1, since: now}
	l.whole.pause(until)
	return until, true
}

// answered notes that the platform answered a send which began then; news says that it
// did not before.
func (l *limits) answered(began time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.breaker.opened == 0 || !began.After(l.breaker.since) {
		return false
	}
	l.breaker = breaker{since: l.breaker.since}
	return true
}

// failedLast is when a send last failed for the whole channel; zero: none did.
func (l *limits) failedLast() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.since
}

// noAnswer notes that the end of a send says nothing of the channel; news says that
// others wait for it.
func (l *limits) noAnswer() (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.probed()
}
