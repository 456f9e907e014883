package scheduler

import (
	"testing"
	"time"
)

// A timer has its name before its length or behind it, and a text or none.
func TestTimers(t *testing.T) {
	t.Parallel()
	now := at(t, spoken)
	for text, want := range map[string]string{
		"set a 10 minute timer for pasta":         "10m0s pasta",
		"set a 10-minute timer for pasta":         "10m0s pasta",
		"can you set a 10 min timer?":             "10m0s Time is up.",
		"10 minute timer":                         "10m0s Time is up.",
		"10 minute timer: pasta":                  "10m0s pasta",
		"an hour and a half timer for dough":      "1h30m0s dough",
		"timer 5 min":                             "5m0s Time is up.",
		"timer 5 min pasta":                       "5m0s pasta",
		"stell einen 10 minuten timer für Nudeln": "10m0s Nudeln",
	} {
		got, err := Find(text, now, "Europe/Rome")
		if err != nil || !got.Spoken || !got.Leading {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		next, _ := got.Spec.Next(now)
		says := got.Rest
		if says == "" {
			says = got.Says
		}
		if said := next.Sub(now).Round(time.Second).String() + " " + says; said != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, said, want)
		}
	}
	for _, text := range []string{"set a 10 minute limit for calls", "a 10 minute run", "the 10 minute timer rang"} {
		if got, err := Find(text, now, "Europe/Rome"); err == nil || got.Timed {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
