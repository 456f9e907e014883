package scheduler

import (
	"testing"
	"time"
)

// An interval that has a day or a time keeps them where it starts later.
func TestIntervalStartsAtItsTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"every other monday at 9 starting 5 december": "2026-12-07T09:00:00+01:00",
		"every 2 days at 9 from 5 december":           "2026-12-05T09:00:00+01:00",
		"every other monday at 9 from tomorrow":       "2026-11-30T09:00:00+01:00",
		"every 2 days from 5 december":                "2026-12-05T00:00:00+01:00",
		"every 2 days from 5 december at 9":           "2026-12-05T09:00:00+01:00",
		"every 2 days at 9 from 5 april":              "2027-04-05T09:00:00+02:00",
	} {
		when, err := Read(text, at(t, spoken), "Europe/Rome")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if next, _ := when.Spec.Next(at(t, spoken)); !next.Equal(at(t, want)) {
			zone, _ := Zone("Europe/Rome")
			t.Errorf("%s: %s; want %s", text, next.In(zone).Format(time.RFC3339), want)
		}
	}
}
