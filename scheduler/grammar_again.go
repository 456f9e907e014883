package scheduler

import (
	"slices"
	"strings"
	"time"
)

// A recurring is what comes again, and how that is said.
type recurring struct {
	words []string
	again again
	part  *part
	every time.Duration // in place of again
}

// What comes again in words of its own, and what stands behind "every".
var (
	adverbs = []recurring{
		{words: []string{"daily"}},
		{words: []string{"nightly", "nights"}, part: parts["night"]},
		{words: []string{"mornings"}, part: parts["morning"]},
		{words: []string{"afternoons"}, part: parts["afternoon"]},
		{words: []string{"evenings"}, part: parts["evening"]},
		{words: []string{"fortnightly"}, every: 14 * oneDay},
		{words: []string{"on weekends", "weekends", "at weekends", "at the weekends"}, again: again{weekdays: weekend}},
		{words: []string{"hourly"}, every: time.Hour},
		{words: []string{"weekdays", "on weekdays"}, again: again{weekdays: workdays}},
		{words: []string{"weekly"}, again: again{week: true}},
		{words: []string{"monthly"}, again: again{month: true}},
		{words: []string{"quarterly"}, again: again{month: true, step: 3, quarter: true}},
		{words: []string{"yearly", "annually"}, again: again{year: true}},
	}
	everyOne = []recurring{
		{words: []string{"day", "1 day"}},
		{words: workday, again: again{weekdays: workdays}},
		{words: []string{"weekend"}, again: again{weekdays: weekend}},
		{words: []string{"week", "1 week"}, again: again{week: true}},
		{words: []string{"month", "1 month"}, again: again{month: true}},
		{words: []string{"year", "1 year"}, again: again{year: true}},
		{words: []string{"morning"}, part: parts["morning"]},
		{words: []string{"afternoon"}, part: parts["afternoon"]},
		{words: []string{"evening"}, part: parts["evening"]},
		{words: []string{"night"}, part: parts["night"]},
	}
)

// recurs reads one of a list, and the days that belong to it.
func (g *grammar) recurs(s *said, list []recurring) bool {
	for _, r := range list {
		if !g.take(r.words...) {
			continue
		}
		if s.every, s.calendar = r.every, r.every >= oneDay; r.every != 0 {
			return true
		}
		if r.part != nil {
			s.part = r.part
		}
		s.again = &r.again
		return g.daysOf(s.again)
	}
	return false
}

// again reads "every 15 minutes", "every weekday", "every monday and thursday", "every month on the 1st",
// "daily".
func (g *grammar) again(s *said) bool {
	if s.whole() || s.dated() {
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
	if g.recurs(s, adverbs) {
		return true
	}
	switch {
	case g.take("biweekly", "bimonthly"):
		return g.fail("“%s” may mean two things; write “every 2 weeks”, “every 2 months” or “every month on the 1st and 15th”", g.last().word)
	case g.take("every", "each", "once every", "once a", "once an"):
		g.take("single")
		return g.recurs(s, everyOne) || g.interval(s)
	}
	g.take("on")
	if strings.HasSuffix(g.peek(0), "days") {
		return g.onWeekdays(s)
	}
	return false
}

// onWeekdays reads weekdays that come again.
func (g *grammar) onWeekdays(s *said) bool {
	set := g.weekdays()
	if set != 0 {
		s.again = &again{weekdays: set}
	}
	return set != 0
}

// interval reads "15 minutes", "other day", "hour", and the days "monday and thursday", "1st and 15th".
func (g *grammar) interval(s *said) bool {
	if g.onWeekdays(s) {
		return true
	}
	if counted := g.everyCounted(); counted != "" {
		s.again = &again{month: true, counted: counted}
		return true
	}
	word, next := g.peek(0), g.peek(1)
	if n := slices.Index(ordinals, word); n > 0 {
		_, isUnit := unit(next)
		switch last := word == "last"; {
		case (isUnit || monthsIn(next) != 0) && !last:
			g.at++
			return g.everyNth(s, n+1)
		case isWeekday(next) || last:
			g.strong = true
			return g.fail("“every %s %s” may mean two things; write “every 2 weeks on monday”, or dates, as in “every month on the 1st”", word, next)
		}
	}
	n, ordinal, _ := date(word)
	if ordinal && n > 1 && next == "day" {
		g.at += 2
		s.every, s.calendar = time.Duration(n)*oneDay, true
		return true
	}
	if d, m, ok := g.dateAndMonth(); ok {
		s.again = &again{dates: 1 << d, months: 1 << m}
		return true
	}
	if ordinal {
		s.again = &again{dates: g.dates()}
		g.take("of the month", "of each month", "of every month")
		return true
	}
	if !g.take("other") {
		return g.everyNth(s, 1)
	}
	if w, _, ok := weekday(g.peek(0)); ok {
		g.at++
		s.every, s.calendar, s.day = 14*oneDay, true, &day{weekday: w, named: "the"}
		return true
	}
	return g.everyNth(s, 2)
}

// everyCounted reads "first monday of the month" behind "every".
func (g *grammar) everyCounted() string {
	before := g.at
	counted := g.counted()
	if counted != "" && !g.take("of the month", "of every month", "of each month", "in the month", "of a month") && !strings.ContainsAny(counted[len(counted)-1:], "1LW5") { // every second monday may be every other
		g.at = before
		return ""
	}
	return counted
}

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
		s.again = &again{month: true, step: months, quarter: months == 3 && g.last().word == "quarter"}
		g.strong = 12%months != 0
		return !g.strong && g.daysOf(s.again) ||
			g.fail("an interval of months has to fit into a year: 1, 2, 3, 4, 6 or 12 of them; or write the months, as in “every year on the 1st of may and october”")
	} else {
		return g.fail("after “every” write a day or an interval; %s", taken)
	}
	s.calendar = slices.Max(append(g.unitsSince(before), 0)) >= oneDay && s.every%oneDay == 0
	if s.every < time.Second || s.every > 3660*oneDay {
		return g.fail("that interval is not between one second and ten years")
	}
	return true
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
	if s.every == 0 || s.every >= oneDay || s.ran != 0 {
		return false
	}
	var set uint64
	switch g.take("on"); {
	case g.take("weekdays"):
		set = workdays
	case g.take("weekends"):
		set = weekend
	default:
		set = g.weekdays()
	}
	if set != 0 && (s.every > time.Hour || time.Hour%s.every != 0 || s.every < time.Minute || s.most != 0) {
		return g.fail("that interval cannot be limited to certain days; write a cron expression, such as “cron 0 9-17/2 * * 1-5”")
	}
	s.ran = set
	return set != 0
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
