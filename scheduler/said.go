package scheduler

import "time"

// said is what words say, before it is clear when that is.
type said struct {
	zone     string
	exact    time.Time     // an instant, with its offset
	wait     time.Duration // in 20 minutes
	day      *day
	part     *part
	clocks   []clock
	every    time.Duration // an interval
	again    *again        // by the calendar
	cron     string
	hours    *[2]clock
	bound    bool // it is a start or an end, which may be over
	from     *said
	until    *said
	span     time.Duration // for 3 weeks
	most     int
	often    bool   // a day of the month: of this one, or of each
	ran      uint64 // weekdays of an interval
	calendar bool   // an interval counts days, and not hours
	seconds  bool   // how long was said to the second
	bare     bool   // how long, without "in"
}

// A day is one that was named.
type day struct {
	today, tonight bool
	days, months   int          // from today
	tomorrow       bool         // days are named, and not counted
	weekday        time.Weekday // with named
	named          string       // "the", "this" or "next" weekday
	year, month    int          // of a date; 0: the next such
	date           int          // of a month; 0: no date
	counted        string       // in a month, as cron writes it: L, LW, 1#2, 5L
	nextYear       bool
}

// isWeekday: nothing but the name of the day was said.
func (d *day) isWeekday() bool { return d != nil && d.named == "the" && d.date == 0 }

// A part of the day: what it means alone, and whether hours in it are counted from noon.
type part struct {
	hour int
	pm   bool
}

var parts = map[string]*part{
	"morning": {9, false}, "afternoon": {15, true}, "evening": {19, true}, "night": {21, true},
}

// A clock is a time of the day. Plain: it may be one before noon or after.
type clock struct {
	hour, minute, second int
	plain, midnight      bool
}

// again is a day that comes again: sets of weekdays, dates and months. Empty: any; with week or month
// set, that of today.
type again struct {
	weekdays, dates, months uint64
	counted                 string // a day that is counted in its month, as cron writes it: L, LW, 1#2, 5L
	week, month, year       bool
	step                    int  // of months, from the next such day on
	quarter                 bool // in its first month, or the last one
}

// whole: nothing could still be added that belongs to it.
func (s *said) whole() bool {
	return s.wait != 0 || !s.exact.IsZero() || s.every != 0 || s.cron != "" ||
		len(s.clocks) > 0 && s.dated()
}

// dated: a day was said, or one that comes again; empty: neither an instant, a day nor the time of a clock.
func (s *said) dated() bool { return s.day != nil || s.again != nil }

func (s *said) empty() bool { return s.exact.IsZero() && s.day == nil && len(s.clocks) == 0 }

// join adds a time of the day to a day, or a day to a time of the day.
func (s *said) join(o *said) bool {
	onlyClock := func(s *said) bool { return len(s.clocks) > 0 && !s.dated() && s.part == nil }
	onlyDay := func(s *said) bool { return len(s.clocks) == 0 && s.dated() }
	if o.whole() && !onlyClock(o) || o.zone != "" && s.zone != "" || o.from != nil || o.until != nil || o.hours != nil {
		return false
	}
	switch {
	case onlyDay(s) && onlyClock(o):
		s.clocks = o.clocks
	case onlyClock(s) && onlyDay(o):
		s.day, s.again, s.part = o.day, o.again, o.part
	default:
		return false
	}
	if s.zone == "" {
		s.zone = o.zone
	}
	return true
}

// fixed: the time is so far one instant, to which nothing belongs but a zone.
func (s *said) fixed() bool { return s.wait != 0 || !s.exact.IsZero() || s.cron != "" }

// exactly: more than a day was said.
func (s *said) exactly() bool {
	return len(s.clocks) > 0 || s.part != nil || s.fixed() || s.again != nil || s.every != 0
}

// timed: the time of a clock was said, so that a zone belongs to it.
func (s *said) timed() bool {
	for _, t := range []*said{s, s.from, s.until} {
		if t != nil && (len(t.clocks) > 0 || t.part != nil || t.day != nil && t.day.tonight) {
			return true
		}
	}
	return s.hours != nil || s.cron != ""
}

// clockless: a day was said without the time of a clock; open: nothing says which time of it is meant.
func (s *said) clockless() bool {
	return len(s.clocks) == 0 && !s.fixed() && (s.dated() || s.every >= oneDay)
}

func (s *said) open() bool {
	return len(s.clocks) == 0 && s.part == nil && !s.fixed() && s.every == 0 && (s.day == nil || !s.day.tonight)
}

// counted: it is so long from now.
func (s *said) counted() bool {
	return s.wait != 0 || s.day != nil && s.day.months+s.day.days > 0 && s.day.named == "" && s.day.date == 0 && !s.day.tomorrow
}

// placed: the day or the time of an interval's first was said.
func (s *said) placed() bool { return s.day != nil || len(s.clocks) > 0 || s.part != nil }
