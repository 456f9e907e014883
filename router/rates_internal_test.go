package router

import (
	"testing"
	"time"
)

// Whoever is too fast is told once, and again when that may have been forgotten.
func TestTooFastIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p, err := newPersonRates("1/h")
	if err != nil {
		t.Fatal(err)
	}
	judged := func(after time.Duration) charge {
		b := p.bucket("ada", now.Add(after))
		return b.judge("ada", now.Add(after), 1)
	}
	want := func(after time.Duration, wantOK, wantTell bool) {
		t.Helper()
		for range 3 { // what is not committed has no effect
			if c := judged(after); (c.weight > 0) != wantOK || c.notified != wantTell {
				t.Errorf("after %s: %+v", after, c)
			}
		}
		p.count(judged(after))
	}
	want(0, true, false)
	want(time.Second, false, true)
	want(2*time.Second, false, false)
	want(time.Minute, false, false)
	want(time.Minute+time.Second, false, true)
	want(time.Minute+2*time.Second, false, false)
	want(time.Hour, true, false) // the rate allows again
	want(time.Hour+time.Second, false, true)
	want(-time.Hour, false, false) // counts as the newest that counted
	want(2*time.Hour, true, false)
}
