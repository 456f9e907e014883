package router

import (
	"testing"
	"time"
)

// Whoever is too fast is told once a minute, also where messages are taken in between.
func TestTooFastIsAnsweredOnceAMinute(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for rate, steps := range map[string][]struct {
		after      time.Duration
		taken, say bool
	}{
		"1/h": {
			{0, true, false},
			{time.Second, false, true},
			{2 * time.Second, false, false},
			{time.Minute, false, false},
			{time.Minute + time.Second, false, true},
			{time.Minute + 2*time.Second, false, false},
			{time.Hour, true, false}, // the rate allows again
			{time.Hour + time.Second, false, true},
			{-time.Hour, false, false}, // counts as the newest that counted
			{2 * time.Hour, true, false},
		},
		"1/s": {
			{0, true, false},
			{100 * time.Millisecond, false, true},
			{time.Second, true, false},
			{1100 * time.Millisecond, false, false},
			{time.Minute, true, false},
			{time.Minute + 200*time.Millisecond, false, true},
		},
	} {
		p, err := newPersonRates(rate)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			var c charge
			for range 3 { // what is not committed has no effect
				b := p.bucket("ada", now.Add(step.after))
				if c = b.judge("ada", now.Add(step.after), 1); (c.weight > 0) != step.taken || c.notified != step.say {
					t.Errorf("%s after %s: %+v", rate, step.after, c)
				}
			}
			p.count(c)
		}
	}
}
