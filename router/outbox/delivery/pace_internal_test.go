package delivery

import (
	"testing"
	"time"

	"switchboard/internal/words"
)

// The clock of a platform is known by what its fastest event took, of those that were
// told while we listened.
func TestFastestEventShowsThePlatformsClock(t *testing.T) {
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
			if got := now.Sub(p.observe(now.Add(-e.ago), now, time.Hour, e.live)); got != e.want {
				t.Errorf("%s: event %d was %s ago, want %s", name, i, got, e.want)
			}
		}
	}
}

// Our own clock was wrong (the machine booted before it knew the time, or slept) as a
// message came, and is set right: what was learned by the wrong one is forgotten.
func TestPaceIsForgottenWhenOurClockLeapt(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, wrong := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		var p pace
		p.observe(truth, truth.Add(wrong), time.Minute, true)
		for i := range 3 {
			ran := time.Duration(i+1) * 10 * time.Minute
			now := truth.Add(ran)
			if got := now.Sub(p.observe(now.Add(-time.Second), now, time.Minute+ran, true)); got != time.Second {
				t.Errorf("%s: message %d, written a second ago, is taken to be %s old", name, i, got)
			}
			if got := now.Sub(p.observe(now.Add(-30*time.Minute), now, time.Minute+ran, false)); got != 30*time.Minute {
				t.Errorf("%s: a message of half an hour ago is taken to be %s old", name, got)
			}
		}
	}
}

// While this machine slept somebody wrote. That is late, though the connection seems to
// have been there all the time.
func TestMessageWrittenWhileWeSleptIsLate(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p.observe(now.Add(-time.Second), now, time.Minute, true)
	now = now.Add(8 * time.Hour)
	if got := now.Sub(p.observe(now.Add(-5*time.Hour), now, 2*time.Minute, true)); got != 5*time.Hour {
		t.Errorf("a message of five hours ago is taken to be %s old", got)
	}
}

// A platform's clock that is set right is known again when its events have shown it for
// a while; one event that came late shows nothing.
func TestPlatformsClockThatIsSetRightIsLearned(t *testing.T) {
	t.Parallel()
	var p pace
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	old := func(ran, took time.Duration) time.Duration {
		now := begin.Add(ran)
		return now.Sub(p.observe(now.Add(-took), now, ran, true))
	}
	old(0, -20*time.Minute)
	if got := old(2*time.Hour, time.Second); got != 20*time.Minute+time.Second {
		t.Errorf("after one event: %s", got)
	}
	old(2*time.Hour+time.Minute, time.Second)
	if got := old(3*time.Hour+time.Minute, time.Second); got != time.Second {
		t.Errorf("after two windows: %s", got)
	}
	if got := old(5*time.Hour, 2*time.Hour); got != 2*time.Hour {
		t.Errorf("one that comes two hours late is taken to be %s old", got)
	}
}

func TestSpansReadAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Second: "less than a minute", time.Minute: "1 minute", 89 * time.Minute: "89 minutes", 100 * time.Minute: "2 hours",
		47 * time.Hour: "47 hours", 50 * time.Hour: "2 days", -time.Hour: "less than a minute",
	} {
		if got := words.Span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
