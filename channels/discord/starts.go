package discord

import (
	"fmt"
	"time"

	"switchboard/internal/retry"
)

// few says that no more than a fifth of the day's starts is left: those are for somebody who
// restarts the program. Who uses up all has the token reset by the platform.
func (g *gateway) few() bool { return g.Starts.Remaining <= g.Starts.Total/5 }

// reset is when the platform gives new starts.
func (g *gateway) reset() time.Duration {
	return min(max(time.Duration(g.Starts.ResetAfter)*time.Millisecond, 0), 24*time.Hour)
}

// left is how many starts are left, in words.
func (g *gateway) left() string {
	return fmt.Sprintf("%d of the day's %d session starts are left; the platform gives new ones at %s",
		g.Starts.Remaining, g.Starts.Total, time.Now().Add(g.reset()).UTC().Format("2006-01-02 15:04 UTC"))
}

// starts paces the beginning of sessions, of which the platform allows about a thousand a day.
// Resuming one is not counted. Its gate's lock guards it.
type starts struct {
	last  time.Time // when the latest session was begun; zero: none was
	times int       // sessions begun since one held
	not   time.Time // none begins before
	fault error     // what the latest connection ended with that did not hold
	few   time.Time // since when a process that began none waits, as few are left
}

// wait is how long to wait before the next session, and why.
func (s *starts) wait(p pace, now time.Time) (time.Duration, string) {
	next := s.not
	if !s.last.IsZero() {
		if paced := s.last.Add(retry.Pause(max(s.times-1, 0), p.start, p.startMost)); paced.After(next) {
			next = paced
		}
	}
	return next.Sub(now), fmt.Sprintf("%d sessions in a row did not hold for %s (the latest: %v)", s.times, p.holds, s.fault)
}

// spare is how long to wait because few starts are left: until there are new ones, but a process
// that began no session yet, as after a restart by hand, soon begins one.
func (s *starts) spare(p pace, g *gateway, now time.Time) time.Duration {
	switch {
	case !g.few():
		s.few = time.Time{}
		return 0
	case g.Starts.Remaining <= 0 || !s.last.IsZero():
		return max(g.reset(), p.start)
	case s.few.IsZero():
		s.few = now
	}
	return s.few.Add(p.restart).Sub(now)
}
