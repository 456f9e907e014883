package platformtest

import "time"

// A Window counts what was let through within a time.
type Window struct {
	Span  time.Duration
	Most  int // 0: no limit
	times []time.Time
}

// Wait is how long until n more fit; 0: they fit. More than fit at all go when the
// window is empty.
func (w *Window) Wait(now time.Time, n int) time.Duration {
	for len(w.times) > 0 && now.Sub(w.times[0]) >= w.Span {
		w.times = w.times[1:]
	}
	if w.Most == 0 || len(w.times) == 0 || len(w.times)+n <= w.Most {
		return 0
	}
	last := min(len(w.times)+n-w.Most, len(w.times))
	return max(w.Span-now.Sub(w.times[last-1]), time.Millisecond)
}

// Add counts n.
func (w *Window) Add(now time.Time, n int) {
	for range n {
		w.times = append(w.times, now)
	}
}
