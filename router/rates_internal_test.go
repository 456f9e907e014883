package router

import (
	"testing"
	"time"
)

// Whoever is too fast is told once, and again when that may have been forgotten.
func TestTooFastIsToldOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p, err := newPersonRates("1/h")
	if err != nil {
		t.Fatal(err)
	}
	want := func(after time.Duration, wantOK, wantTell bool) {
		t.Helper()
		if ok, tell := p.allow("ada", now.Add(after)); ok != wantOK || tell != wantTell {
			t.Errorf("after %s: taken %t, told %t", after, ok, tell)
		}
	}
	want(0, true, false)
	want(time.Second, false, true)
	want(2*time.Second, false, false)
	want(time.Minute, false, false)
	want(time.Minute+time.Second, false, true)
	want(time.Minute+2*time.Second, false, false)
	p.untold("ada")
	p.untold("nobody")
	want(time.Minute+3*time.Second, false, true)
	want(time.Hour, true, false) // the rate allows again
	want(time.Hour+time.Second, false, true)
}
