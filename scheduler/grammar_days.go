package scheduler

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// delay reads "in 20 minutes", "in 2 days", "in a month"; at the start of a text also "20 minutes".
func (g *grammar) delay(s *said) bool {
	if s.whole() || s.dated() || len(s.clocks) > 0 {
		return false
	}
	if g.bare = !g.take("in about", "in around", "in exactly", "in", "after"); g.bare && !g.start {
		return false
	}
	word := g.peek(0)
	if !g.bare && (len(word) > 1 && word[0] == '-' && isDigit(word[1:]) || word == "minus") {
		return g.fail("that time is not in the future; write a number above zero, as in “in 5 minutes”")
	}
	n, ok := number(word)
	if word == "a" {
		n, ok = 1, true
	}
	if months := monthsIn(g.peek(1)); ok && (months == 1 || months == 12) && n < 1200 {
		g.at += 2
		s.day = &day{months: n * months}
		return n > 0 || g.fail("that is now; %s", taken)
	}
	before := g.at
	d, ok := g.length()
	days := false
	for _, u := range g.unitsSince(before) {
		days = days || u >= oneDay
		s.seconds = s.seconds || u == time.Second
	}
	s.seconds = s.seconds || d%time.Minute != 0
	switch {
	case !ok:
		return false
	case d <= 0:
		return g.fail("that is now; %s", taken)
	case d%oneDay == 0 && days: // by the calendar, where 24 hours are as long wherever clocks change
		s.day = &day{days: int(d / oneDay)}
	default:
		s.wait = d
	}
	if last := g.last().word; strings.HasSuffix(last, "'") || strings.HasSuffix(last, "'s") {
		g.take("time")
	}
	g.take("from now", "later")
	return true
}

// instant reads 2026-12-05T09:00:00+01:00, and 2026-12-05 with or without a time.
func (g *grammar) instant(s *said) bool {
	if s.fixed() || s.dated() {
		return false
	}
	on := g.take("on the", "on", "by")
	if !on {
		g.take("at", "the")
	}
	word := strings.ToUpper(g.peek(0))
	if !isDigit(word) {
		return false
	}
	for n, word := range []string{word, word + "T" + strings.ToUpper(g.peek(1))} { // with "T", or a space
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700"} {
			if t, err := time.Parse(layout, word); err == nil && len(s.clocks) == 0 {
				s.exact = t
				g.at += n + 1
				return true
			}
		}
	}
	if s.day = g.figures(); s.day != nil || g.err != nil {
		return s.day != nil
	}
	if raw := g.tokens[g.at].raw; numericDate(raw) || on && numericDate(strings.TrimRight(raw, ",")+".") {
		if s.day = g.exactDate(raw); s.day == nil {
			return g.fail("%s "+twoWays, raw)
		}
		g.at++
		return true
	}
	date, rest, joined := strings.Cut(word, "T")
	if len(date) != len(time.DateOnly) {
		return false
	}
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date[4] == '-' && strings.Trim(date, "0123456789-") == "" && g.fail("there is no day %s", date)
	}
	if joined {
		c, ok := readClock(rest)
		if !ok || len(s.clocks) > 0 {
			return false
		}
		c.plain = false
		s.clocks = []clock{c}
	}
	g.at++
	s.day = &day{year: t.Year(), month: int(t.Month()), date: t.Day()}
	return true
}

// dayItem reads "tomorrow", "on monday", "next friday", "on 5 december", "on the 1st".
func (g *grammar) dayItem(s *said) bool {
	if s.fixed() || s.dated() {
		return false
	}
	d := &day{}
	switch {
	case g.take("today", "later today"), parts[g.peek(1)] != nil && g.take("this"):
		d.today = true
	case g.take("tonight"):
		d.today, d.tonight = true, true
	case g.take("tomorrow", "tmrw", "tmr"):
		d.days, d.tomorrow = 1, true
	case g.take("the day after tomorrow", "day after tomorrow"):
		d.days, d.tomorrow = 2, true
	case g.take("yesterday", "last week", "last night"):
		g.err = &PastError{"That time is in the past."}
		return false
	case g.take("next week"):
		d.named = "week"
		before := g.at
		g.take("on")
		if w, _, ok := weekday(g.peek(0)); ok {
			d.weekday, d.days = w, fromMonday(w)
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

// fromMonday is how many days after Monday a day of the week is.
func fromMonday(w time.Weekday) int { return (int(w) + 6) % 7 }

// namedDay reads a day by its name in the week, its date, or both.
func (g *grammar) namedDay(s *said, d *day) bool {
	often := g.take("on/every")
	on := often || g.take("on", "by")
	if g.peek(0) == "at" { // "at christmas"
		if _, _, ok := g.lookahead(1).dateAndMonth(); ok && g.tokens[g.at+1].meant {
			g.at++
		}
	}
	switch {
	case g.take("this coming", "this", "the coming", "coming"):
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
		if g.take("next week", "of next week") {
			s.day = &day{named: "week", days: fromMonday(w)}
			return true
		}
	} else if d.named != "" {
		return false
	}
	the := g.take("the")
	var ok bool
	if d.date, d.month, ok = g.dateAndMonth(); ok {
		if year := g.peek(0); len(year) == 4 && year[0] == '2' {
			if n, err := strconv.Atoi(year); err == nil {
				d.year = n
				g.at++
			}
		}
		d.nextYear = d.year == 0 && g.take("next year", "of next year")
		s.day = d
		return true
	}
	if n, ordinal, _ := date(g.peek(0)); ordinal && (the || on || isWeekday) {
		g.at++
		if g.take("of every month", "of each month") {
			s.again = &again{dates: 1 << n}
			return true
		}
		if d.date = n; g.take("of next month") {
			d.months = 1
		} else {
			g.take("of this month", "of the month")
		}
		s.day = d
		return true
	}
	s.often = often && isWeekday
	if !isWeekday || the || !long && !on && !(g.start && g.clockAhead()) {
		return false
	}
	s.day = d
	return true
}

// monthItem reads days that are said by their month: "the last friday of every month", "the last day of the month", "next
// month on the 28th", "in december on the 26th", "mon, wed and fri".
func (g *grammar) monthItem(s *said) bool {
	if s.fixed() || s.dated() {
		return false
	}
	before := g.at
	d := &day{}
	m, isMonth := month(g.peek(1))
	switch {
	case g.peek(0) == "in" && isMonth:
		g.at += 2
		d.month = m
	case g.take("next month"):
		d.months = 1
	case g.take("this month"):
	default:
		return g.countedItem(s) || g.reset(before) || g.weekdayList(s)
	}
	on := g.take("on the", "on", "the")
	if d.counted = g.counted(); d.counted == "" {
		n, ordinal, ok := date(g.peek(0))
		if !ok || !on && !ordinal {
			return false
		}
		g.at++
		d.date = n
	}
	s.day = d
	return true
}

// countedItem reads "the first monday of every month", "the end of the month".
func (g *grammar) countedItem(s *said) bool {
	g.take("at", "on", "by")
	g.take("the")
	begin := g.at
	counted := g.counted()
	if counted == "" {
		return false
	}
	m, isMonth := month(g.peek(1))
	switch {
	case g.take("of every month", "of each month", "every month", "each month"):
		s.again = &again{month: true, counted: counted}
	case g.take("of every quarter", "of each quarter", "of the quarter", "every quarter", "each quarter"):
		s.again = &again{month: true, step: 3, quarter: true, counted: counted}
	case g.take("of next month"):
		s.day = &day{counted: counted, months: 1}
	case g.take("of this month", "this month"):
		s.day = &day{counted: counted}
	case g.take("of the month"):
		s.day, s.often = &day{counted: counted}, counted != "L"
	case isMonth && g.take("of", "in"):
		g.at++
		s.day = &day{counted: counted, month: m}
	default:
		var list []string
		for _, t := range g.tokens[begin:g.at] {
			list = append(list, t.word)
		}
		g.strong = true
		return g.fail("of which month? Write “the %s of every month” or “of december”", strings.Join(list, " "))
	}
	return true
}

// weekdayList reads three days or more, which come again: "mon, wed and fri".
func (g *grammar) weekdayList(s *said) bool {
	g.take("on")
	begin := g.at
	if set := g.weekdays(); g.at-begin > 2 && bits.OnesCount64(set) >= 3 {
		s.again = &again{weekdays: set}
		return true
	}
	return false
}
