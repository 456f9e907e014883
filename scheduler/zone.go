package scheduler

import (
	"fmt"
	"sync"
	"time"

	"switchboard/internal/words"
)

// zones are those that were read: a claim of many jobs reads each from the disk once.
var zones sync.Map

// Zone is the time zone of an IANA name.
func Zone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if err := words.CheckZone(name); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}

// Location is the zone of s, or UTC where that is not known any more.
func (s *Spec) Location() *time.Location {
	if zone, err := Zone(s.Zone); err == nil {
		return zone
	}
	return time.UTC
}

// instant is t as the database keeps it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// wall is what the clock of a zone shows at t, written as an instant of UTC: a calendar without zones.
func wall(t time.Time, zone *time.Location) time.Time {
	_, seconds := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(seconds) * time.Second)
}

// A stretch of time in which a clock is not changed: from start, before end. Zero: without bound.
type stretch struct {
	start, end time.Time
	offset     time.Duration
}

func stretchAt(t time.Time, zone *time.Location) stretch {
	t = t.In(zone)
	start, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// Where a zone goes by a rule, and not by a table, Go 1.26 takes each year to have 365 days.
		end = t.Add(time.Hour)
	}
	_, seconds := t.Zone()
	return stretch{start.UTC(), end.UTC(), time.Duration(seconds) * time.Second}
}

// has: t, which is not before the start, is in the stretch.
func (s stretch) has(t time.Time) bool { return s.end.IsZero() || t.Before(s.end) }

// most is more than a clock is ever changed by: a day, where a country crosses the date line.
const most = 49 * time.Hour

// reached is the first instant at which the clock of a zone shows a time or a later one: the first
// of two, or the end of the gap that the time is in.
func reached(shown time.Time, zone *time.Location) time.Time {
	for t := shown.Add(-most); ; {
		s := stretchAt(t, zone)
		at := shown.Add(-s.offset)
		if at.Before(s.start) {
			at = s.start
		}
		if s.has(at) {
			return at
		}
		t = s.end
	}
}

// shown is the latest time that the clock of a zone has shown by t. Where it was put back just now, that is
// more than it shows.
func shown(t time.Time, zone *time.Location) time.Time {
	latest := wall(t, zone)
	for s := stretchAt(t, zone); !s.start.IsZero() && t.Sub(s.start) < most; {
		before := s.start.Add(-1)
		if last := wall(before, zone); last.After(latest) {
			latest = last
		}
		s = stretchAt(before, zone)
	}
	return latest
}

// nextElapsed is the first real instant after another, strictly, at which the clock of a zone shows
// what fits; zero: none in some years.
func nextElapsed(f fields, after time.Time, zone *time.Location) time.Time {
	s := stretchAt(after, zone)
	from := after.UTC().Add(s.offset)
	for {
		fit := f.Next(from)
		if fit.IsZero() {
			return fit
		}
		if at := fit.Add(-s.offset); s.has(at) {
			return at
		}
		start := s.end
		s = stretchAt(start, zone)
		from = start.Add(s.offset - 1)
	}
}

// hours are those of the day in which slots count, from the first minute until before the last.
type hours struct{ from, until time.Duration }

// readHours reads hours; nil: the text is empty, which is all of them.
func readHours(text string) (*hours, error) {
	if text == "" {
		return nil, nil
	}
	var a, b, c, d int
	if n, err := fmt.Sscanf(text+" ", "%2d:%2d-%2d:%2d ", &a, &b, &c, &d); n != 4 || err != nil ||
		text != fmt.Sprintf("%02d:%02d-%02d:%02d", a, b, c, d) || a > 23 || b > 59 || c > 24 || d > 59 || c == 24 && d > 0 {
		return nil, fmt.Errorf("the hours %q are not written as 08:00-22:00", text)
	}
	h := &hours{from: time.Duration(60*a+b) * time.Minute, until: time.Duration(60*c+d) * time.Minute}
	if h.from == h.until {
		return nil, fmt.Errorf("the hours %q cover no time; leave them out for the whole day", text)
	}
	return h, nil
}

// timeOfDay is how long after midnight a clock shows a time.
func timeOfDay(shown time.Time) time.Duration { return shown.Sub(shown.Truncate(oneDay)) }

// have: a time of a clock is among the hours.
func (h *hours) have(shown time.Time) bool {
	day := timeOfDay(shown)
	if h.from < h.until {
		return h.from <= day && day < h.until
	}
	return h.from <= day || day < h.until
}

// opening is the first instant after t, which is outside, that is among the hours.
func (h *hours) opening(t time.Time, zone *time.Location) time.Time {
	for {
		s := stretchAt(t, zone)
		shown := t.UTC().Add(s.offset)
		wait := h.from - timeOfDay(shown)
		if wait <= 0 {
			wait += oneDay
		}
		if at := t.Add(wait); s.has(at) {
			return at
		}
		if t = s.end; h.have(wall(t, zone)) {
			return t
		}
	}
}
