package router

import (
	"testing"
	"time"
)

// The clock of a platform is known by what its fastest event took, of those that were
// told while we listened.
func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type event struct {
		ago  time.Duration // by the platform's clock
		live bool
		want time.Duration // ago by ours
	}
	for name, events := range map[string][]event{
		"in time":           {{time.Second, true, time.Second}, {3 * time.Hour, false, 3 * time.Hour}},
		"a backlog":         {{3 * time.Hour, false, 3 * time.Hour}, {2 * time.Hour, false, 2 * time.Hour}},
		"behind":            {{20 * time.Minute, false, 20 * time.Minute}, {20 * time.Minute, true, 0}, {20*time.Minute + time.Second, true, time.Second}, {3 * time.Hour, false, 160 * time.Minute}},
		"ahead":             {{-20 * time.Minute, true, 0}, {0, false, 20 * time.Minute}},
		"delayed, then not": {{time.Hour, true, 0}, {time.Second, true, time.Second}, {time.Hour, true, time.Hour}},
	} {
		var p pace
		for i, e := range events {
			if got := now.Sub(p.heard(now.Add(-e.ago), now, e.live)); got != e.want {
				t.Errorf("%s: event %d was %s ago, want %s", name, i, got, e.want)
			}
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Second: "less than a minute", time.Minute: "1 minute", 89 * time.Minute: "89 minutes", 100 * time.Minute: "2 hours",
		47 * time.Hour: "47 hours", 50 * time.Hour: "2 days", -time.Hour: "less than a minute",
	} {
		if got := span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
