package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// again reads "every 15 minutes", "every weekday", "every monday and thursday", "every month on the 1st",
// "daily".
func (g *grammar) again(s *said) bool {
	if s.whole() || s.day != nil || s.again != nil {
		return false
	}
	if g.peek(3) == "at" && g.take("twice a day", "two times a day", "2 times a day", "three times a day", "3 times a day") || g.peek(2) == "at" && g.take("twice daily") {
		s.again = &again{}
		return true
	}
	if n, ok := number(g.peek(0)); g.take("twice a", "twice an", "twice every", "thrice a") || ok && n > 0 && g.peek(1) == "times" && (g.peek(2) == "a" || g.peek(2) == "an") {
		return g.fail("write at which times, as in “every day at 9 and 18:00” or “every monday and thursday at 9”")
	}
	before := g.at
	g.take("from", "on")
	if set := g.weekdayRange(); set != 0 {
		s.again = &again{weekdays: set}
		return true
	}
	g.at = before
	switch {
	case g.take("daily"):
		s.again = &again{}
	case g.take("nightly"):
		s.again, s.part = &again{}, parts["night"]
		return true
	case g.take("mornings", "afternoons", "evenings", "nights"):
		s.again, s.part = &again{}, parts[strings.TrimSuffix(g.tokens[g.at-1].word, "s")]
		return true
	case g.take("fortnightly"):
		s.every, s.calendar = 14*24*time.Hour, true
		return true
	case g.take("biweekly", "bimonthly"):
		return g.fail("“%s” may mean two things; write “every 2 weeks”, “every 2 months” or “every month on the 1st and 15th”", g.tokens[g.at-1].word)
	case g.take("on weekends", "weekends", "at weekends", "at the weekends"):
		s.again = &again{weekdays: 1<<time.Saturday | 1<<time.Sunday}
		return true
	case g.take("hourly"):
		s.every = time.Hour
		return true
	case g.take("weekdays", "on weekdays"):
		s.again = &again{weekdays: workdays}
	case g.take("weekly"):
		s.again = &again{week: true}
	case g.take("monthly"):
		s.again = &again{month: true}
	case g.take("quarterly"):
		s.again = &again{month: true, step: 3, quarter: true}
	case g.take("yearly", "annually"):
		s.again = &again{year: true}
	case g.take("every", "each", "once every", "once a", "once an"):
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

var workday = []string{"weekday", "workday", "working day", "work day", "business day"}

// every reads what stands behind "every".
func (g *grammar) every(s *said) bool {
	g.take("single")
	switch {
	case g.take("day", "1 day"):
		s.again = &again{}
	case g.take(workday...):
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
	if counted := g.everyCounted(); counted != "" {
		s.again = &again{month: true, counted: counted}
		return true
	}
	if n := slices.Index(ordinals, g.peek(0)); n > 0 {
		_, isUnit := unit(g.peek(1))
		switch _, _, isWeekday := weekday(g.peek(1)); {
		case (isUnit || monthsIn(g.peek(1)) != 0) && g.peek(0) != "last":
			g.at++
			return g.everyNth(s, n+1)
		case isWeekday || g.peek(0) == "last":
			g.strong = true
			return g.fail("“every %s %s” may mean two things; write “every 2 weeks on monday”, or dates, as in “every month on the 1st”", g.peek(0), g.peek(1))
		}
	}
	if _, ordinal, ok := date(g.peek(0)); ok && ordinal {
		if n, _, _ := date(g.peek(0)); n > 1 && g.peek(1) == "day" {
			g.at += 2
			s.every, s.calendar = time.Duration(n)*24*time.Hour, true
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
	if d, m, ok := g.dateAndMonth(); ok {
		s.again = &again{dates: 1 << d, months: 1 << m}
		return true
	}
	if g.take("other") {
		if w, _, ok := weekday(g.peek(0)); ok {
			g.at++
			s.every, s.calendar, s.day = 14*24*time.Hour, true, &day{weekday: w, named: "the"}
			return true
		}
		return g.everyNth(s, 2)
	}
	return g.everyNth(s, 1)
}

var ordinals = strings.Fields("first second third fourth fifth last")

// everyNth reads "15 minutes", "hour and a half"; n: each n-th of these.
func (g *grammar) everyNth(s *said, n int) bool {
	times, before := time.Duration(n), g.at
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
	} else if months := g.months(n); months != 0 {
		s.again = &again{month: true, step: months, quarter: months == 3 && g.tokens[g.at-1].word == "quarter"}
		g.strong = 12%months != 0
		return !g.strong && g.daysOf(s.again) ||
			g.fail("an interval of months has to fit into a year: 1, 2, 3, 4, 6 or 12 of them; or write the months, as in “every year on the 1st of may and october”")
	} else {
		return g.fail("after “every” write a day or an interval; %s", taken)
	}
	for _, t := range g.tokens[before:g.at] {
		u, _ := unit(t.word)
		s.calendar = s.calendar || u >= 24*time.Hour
	}
	s.calendar = s.calendar && s.every%(24*time.Hour) == 0
	if s.every < time.Second || s.every > 3660*24*time.Hour {
		return g.fail("that interval is not between one second and ten years")
	}
	return true
}

// monthsIn is how many months a word means.
func monthsIn(word string) int {
	return map[string]int{"month": 1, "quarter": 3, "year": 12}[strings.TrimSuffix(word, "s")]
}

// months reads "3 months", "quarter", each n-th of these; 0: it is no such interval.
func (g *grammar) months(n int) int {
	if counted, ok := number(g.peek(0)); ok && counted > 0 && monthsIn(g.peek(1)) != 0 {
		g.at++
		n *= counted
	}
	months := monthsIn(g.peek(0))
	if months != 0 {
		g.at++
	}
	return n * months
}

// onDays reads the days of an interval of hours or minutes: "on weekdays".
func (g *grammar) onDays(s *said) bool {
	if s.every == 0 || s.every >= 24*time.Hour || s.ran != 0 || !g.weekdaysAhead() {
		return false
	}
	if s.every > time.Hour || time.Hour%s.every != 0 || s.every < time.Minute || s.most != 0 {
		return g.fail("that interval cannot be limited to certain days; write a cron expression, such as “cron 0 9-17/2 * * 1-5”")
	}
	switch g.take("on"); {
	case g.take("weekdays"):
		s.ran = workdays
	case g.take("weekends"):
		s.ran = 1<<time.Saturday | 1<<time.Sunday
	default:
		s.ran = g.weekdays()
	}
	return s.ran != 0
}

// daysOf reads the days of a week, month or year that comes again.
func (g *grammar) daysOf(a *again) bool {
	before := g.at
	g.take("on the", "on", "the")
	switch {
	case a.week:
		a.weekdays = g.weekdays()
	case a.month:
		if a.counted = g.counted(); a.counted == "" {
			a.dates = g.dates()
		}
	case a.year:
		if d, m, ok := g.dateAndMonth(); ok {
			a.dates, a.months = 1<<d, 1<<m
		} else if a.counted = g.counted(); a.counted == "" {
			a.dates = g.dates()
		}
		if a.months |= g.namedMonths(a.months != 0); a.months == 0 {
			a.dates, a.counted = 0, ""
		}
	}
	if a.weekdays|a.dates|a.months == 0 && a.counted == "" || !a.week && !a.month && !a.year {
		g.at = before
	}
	return true
}

// namedMonths reads "of january, april and july"; more: some of them were read.
func (g *grammar) namedMonths(more bool) (set uint64) {
	for {
		before := g.at
		joined := !more && g.take("of", "in") || more && (g.take("and") || g.ended(","))
		m, ok := month(g.peek(0))
		if !ok || !joined {
			g.at = before
			return set
		}
		set |= 1 << m
		more = true
		g.at++
	}
}

// counted reads "first monday", "last day", as cron writes them; empty: it is none.
func (g *grammar) counted() string {
	if g.take("last day") {
		return "L"
	}
	before := g.at
	if last := g.take("last"); (last || g.take("first", "1st")) && g.take(workday...) {
		return map[bool]string{true: "LW", false: "1W"}[last]
	}
	g.at = before
	w, _, ok := weekday(g.peek(1))
	n := slices.Index(ordinals, g.peek(0))
	if d, ordinal, isDate := date(g.peek(0)); n < 0 && isDate && ordinal {
		n = d - 1
	}
	if !ok || n < 0 || n >= len(ordinals) {
		return ""
	}
	g.at += 2
	if n == len(ordinals)-1 {
		return fmt.Sprintf("%dL", w)
	}
	return fmt.Sprintf("%d#%d", w, n+1)
}

// weekdays reads a list of them.
func (g *grammar) weekdays() (set uint64) {
	for range 20 { // a text may consist of them
		before := g.at
		if set != 0 {
			g.take("and", "&")
		}
		if span := g.weekdayRange(); span != 0 {
			set |= span
			continue
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

// weekdayRange reads "monday to friday", "mon-fri"; empty: there is none.
func (g *grammar) weekdayRange() (set uint64) {
	before := g.at
	from, to, joined := strings.Cut(g.peek(0), "-")
	first, _, ok := weekday(from)
	if g.at++; !joined && g.take("to", "through", "thru", "till", "until", "-", "–") {
		to = g.peek(0)
		g.at++
	}
	last, _, ends := weekday(to)
	if !ok || !ends {
		g.at = before
		return 0
	}
	for d := first; ; d = (d + 1) % 7 {
		if set |= 1 << d; d == last {
			return set
		}
	}
}

// dates reads a list of them.
func (g *grammar) dates() (set uint64) {
	for range 40 {
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
	return set
}
