package scheduler

import (
	"strconv"
	"strings"
	"time"
)

// weekday reads a day of the week; long: not an abbreviation, which may be another word.
func weekday(word string) (d time.Weekday, long, ok bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		switch word {
		case name, name + "s":
			return d, true, true
		case name[:3], name[:4]:
			return d, false, true
		}
	}
	return 0, false, false
}

// month reads a month.
func month(word string) (int, bool) {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); word == name || word == name[:3] {
			return int(m), true
		}
	}
	return 0, false
}

// date reads the number of a day in a month; ordinal: it has its ending.
func date(word string) (n int, ordinal, ok bool) {
	if word == "first" {
		word = "1st"
	}
	digits := strings.TrimRight(word, "stndrh")
	if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= 31 && len(digits) <= 2 &&
		(digits == word || strings.Contains(" st nd rd th ", " "+word[len(digits):]+" ")) {
		return n, digits != word, true
	}
	return 0, false, false
}

// again reads "every 15 minutes", "every weekday", "every monday and thursday", "every month on the 1st",
// "daily".
func (g *grammar) again(s *said) bool {
	if s.whole() || s.day != nil || s.again != nil {
		return false
	}
	switch {
	case g.take("daily"):
		s.again = &again{}
	case g.take("hourly"):
		s.every = time.Hour
		return true
	case g.take("weekdays", "on weekdays"):
		s.again = &again{weekdays: workdays}
	case g.take("weekly"):
		s.again = &again{week: true}
	case g.take("monthly"):
		s.again = &again{month: true}
	case g.take("yearly"):
		s.again = &again{year: true}
	case g.take("every", "each"):
		return g.every(s)
	case strings.HasSuffix(g.peek(0), "days"), g.peek(0) == "on" && strings.HasSuffix(g.peek(1), "days"):
		g.take("on")
		s.again = &again{weekdays: g.weekdays()}
		if s.again.weekdays == 0 {
			s.again = nil
			return false
		}
		return true
	default:
		return false
	}
	return g.daysOf(s.again)
}

const workdays = 0b0111110

// every reads what stands behind "every".
func (g *grammar) every(s *said) bool {
	switch {
	case g.take("day", "1 day"):
		s.again = &again{}
	case g.take("weekday", "workday", "working day"):
		s.again = &again{weekdays: workdays}
	case g.take("weekend"):
		s.again = &again{weekdays: 1<<time.Saturday | 1<<time.Sunday}
	case g.take("week", "1 week"):
		s.again = &again{week: true}
	case g.take("month", "1 month"):
		s.again = &again{month: true}
	case g.take("year", "1 year"):
		s.again = &again{year: true}
	case parts[g.peek(0)] != nil:
		s.again, s.part = &again{}, parts[g.peek(0)]
		g.at++
	default:
		return g.interval(s)
	}
	return g.daysOf(s.again)
}

// interval reads "15 minutes", "other day", "hour", and the days "monday and thursday", "1st and 15th".
func (g *grammar) interval(s *said) bool {
	if days := g.weekdays(); days != 0 {
		s.again = &again{weekdays: days}
		return true
	}
	if _, ordinal, ok := date(g.peek(0)); ok && ordinal {
		if n, _, _ := date(g.peek(0)); n > 1 && g.peek(1) == "day" {
			g.at += 2
			s.every = time.Duration(n) * 24 * time.Hour
			return true
		}
		if d, m, ok := g.dateAndMonth(); ok {
			s.again = &again{dates: 1 << d, months: 1 << m}
			return true
		}
		s.again = &again{dates: g.dates()}
		g.take("of the month", "of each month", "of every month")
		return true
	}
	times := time.Duration(1)
	if g.take("other") {
		times = 2
	}
	if g.take("hour on the hour") {
		s.cron = "0 * * * *"
		return true
	}
	if d, ok := unit(g.peek(0)); ok {
		g.at++
		s.every = times * d
		if g.take("and a half") {
			s.every += d / 2
		}
	} else if d, ok := g.length(); ok {
		s.every = times * d
	} else if what := strings.TrimSuffix(g.peek(1), "s"); what == "month" || what == "year" {
		return g.fail("some months apart is not taken; write a cron expression, such as “cron 0 9 1 */3 *” for each third month")
	} else {
		return g.fail("behind “every” comes a day or an interval; %s", taken)
	}
	if s.every < time.Second || s.every > 3660*24*time.Hour {
		return g.fail("that interval is not between one second and ten years")
	}
	if before := g.at; s.every < 24*time.Hour && g.take("on") && (g.peek(0) == "weekdays" || g.weekdays() != 0) {
		g.at = before
		return g.fail("an interval has no days; write a cron expression, such as “cron */15 9-17 * * 1-5”")
	} else {
		g.at = before
	}
	return true
}

// daysOf reads the days of a week, month or year that comes again.
func (g *grammar) daysOf(a *again) bool {
	before := g.at
	g.take("on the", "on", "the")
	switch {
	case a.week:
		a.weekdays = g.weekdays()
	case a.month:
		a.dates = g.dates()
	case a.year:
		if d, m, ok := g.dateAndMonth(); ok {
			a.dates, a.months = 1<<d, 1<<m
		}
	}
	if a.weekdays|a.dates|a.months == 0 || !a.week && !a.month && !a.year {
		g.at = before
	}
	return true
}

// weekdays reads a list of them.
func (g *grammar) weekdays() (set uint64) {
	for range 20 { // a text may consist of them
		before := g.at
		if set != 0 {
			g.take("and")
		}
		d, _, ok := weekday(g.peek(0))
		if !ok {
			g.at = before
			return set
		}
		set |= 1 << d
		g.at++
	}
	return set
}

// dates reads a list of them.
func (g *grammar) dates() (set uint64) {
	for {
		before := g.at
		if set != 0 {
			g.take("and the", "and")
		}
		d, ordinal, ok := date(g.peek(0))
		if !ok || !ordinal && set == 0 && g.peek(1) != "" && g.peek(1) != "at" || !ordinal && set != 0 {
			g.at = before
			return set
		}
		set |= 1 << d
		g.at++
	}
}

// dateAndMonth reads "5 december", "5th of december", "december 5".
func (g *grammar) dateAndMonth() (d, m int, ok bool) {
	before := g.at
	if m, ok := month(g.peek(0)); ok {
		if d, _, ok := date(g.peek(1)); ok {
			g.at += 2
			return d, m, true
		}
		return 0, 0, false
	}
	if d, _, ok = date(g.peek(0)); ok {
		g.at++
		g.take("of")
		if m, ok = month(g.peek(0)); ok {
			g.at++
			return d, m, true
		}
	}
	g.at = before
	return 0, 0, false
}

// dayItem reads "tomorrow", "on monday", "next friday", "on 5 december", "on the 1st".
func (g *grammar) dayItem(s *said) bool {
	if s.fixed() || s.day != nil || s.again != nil {
		return false
	}
	d := &day{}
	switch {
	case g.take("today", "later today"):
		d.today = true
	case g.take("tonight"):
		d.today, d.tonight = true, true
	case parts[g.peek(1)] != nil && g.take("this"):
		d.today = true
	case g.take("tomorrow"):
		d.days, d.tomorrow = 1, true
	case g.take("the day after tomorrow", "day after tomorrow"):
		d.days, d.tomorrow = 2, true
	case g.take("yesterday", "last week", "last night"):
		g.err = &PastError{"That is over already."}
		return false
	case g.take("next week"):
		d.named = "week"
		before := g.at
		g.take("on")
		if w, long, ok := weekday(g.peek(0)); ok && long {
			d.weekday, d.days = w, (int(w)+6)%7
			g.at++
		} else {
			g.at = before
		}
	default:
		return g.namedDay(s, d)
	}
	s.day = d
	return true
}

// namedDay reads a day by its name in the week, its date, or both.
func (g *grammar) namedDay(s *said, d *day) bool {
	on := g.take("on")
	switch {
	case g.take("this", "the coming"):
		on, d.named = true, "this"
	case g.take("next"):
		on, d.named = true, "next"
	}
	w, long, isWeekday := weekday(g.peek(0))
	if isWeekday {
		g.at++
		d.weekday = w
		if d.named == "" {
			d.named = "the"
		}
	} else if d.named != "" {
		return false
	}
	s.day = d
	the := g.take("the")
	var ok bool
	if d.date, d.month, ok = g.dateAndMonth(); ok {
		if year := g.peek(0); len(year) == 4 && year[0] == '2' {
			if n, err := strconv.Atoi(year); err == nil {
				d.year = n
				g.at++
			}
		}
		return true
	}
	if n, ordinal, ok := date(g.peek(0)); ok && ordinal && (the || on || isWeekday) {
		d.date = n
		g.at++
		g.take("of this month", "of the month")
		return true
	}
	if !isWeekday || the || !long && !on {
		s.day = nil
		return false
	}
	return true
}
