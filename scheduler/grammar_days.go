package scheduler

import (
	"errors"
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

// dateAndMonth reads "5 december", "5th of december", "december 5".
func (g *grammar) dateAndMonth() (d, m int, ok bool) {
	before := g.at
	if m, ok := month(g.peek(0)); ok {
		g.at++
		g.take("the")
		if d, _, ok := date(g.peek(0)); ok {
			g.at++
			return d, m, true
		}
		g.at = before
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
	often := g.take("on/every")
	on := often || g.take("on", "by")
	if ahead := (grammar{tokens: g.tokens, at: g.at + 1}); g.peek(0) == "at" { // "at christmas"
		if _, _, ok := ahead.dateAndMonth(); ok && ahead.tokens[g.at+1].meant {
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
			s.day = &day{named: "week", days: (int(w) + 6) % 7}
			return true
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
		d.nextYear = d.year == 0 && g.take("next year", "of next year")
		return true
	}
	if n, ordinal, ok := date(g.peek(0)); ok && ordinal && (the || on || isWeekday) {
		d.date = n
		g.at++
		switch {
		case g.take("of every month", "of each month"):
			s.day, s.again = nil, &again{dates: 1 << n}
		case g.take("of next month"):
			d.months = 1
		default:
			g.take("of this month", "of the month")
		}
		return true
	}
	s.often = often && isWeekday
	if !isWeekday || the || !long && !on && !(g.start && g.clockAhead()) {
		s.day = nil
		return false
	}
	return true
}

// numericDate: a word is a date such as 5/12 or 5.12.2026.
func numericDate(word string) bool {
	word = strings.TrimRight(word, ",;:!?")
	if word == "" || word == "24/7" {
		return false
	}
	n := strings.Count(word, "/")
	return strings.Trim(word, "0123456789/") == "" && (n == 1 || n == 2) && word[0] != '/' && word[len(word)-1] != '/' ||
		strings.Trim(word, "0123456789.") == "" && strings.Count(word, ".") == 2 && word[0] != '.' ||
		strings.Trim(word, "0123456789-") == "" && strings.Count(word, "-") == 2 && len(word) > 7 && word[0] != '-' && word[4] != '-'
}

// exactDate is a date in numbers that is read in one way only: 24.12.2026, 12/24/2026, 2026/12/24; nil: it is not.
func (g *grammar) exactDate(word string) *day {
	var n [3]int
	word = strings.Trim(word, ".,;:!?")
	list := strings.FieldsFunc(word, func(r rune) bool { return r == '.' || r == '/' || r == '-' })
	for i, part := range list[:min(3, len(list))] {
		n[i], _ = strconv.Atoi(part)
	}
	switch a, b, year := n[0], n[1], n[2]; {
	case len(list) < 2 || len(list) == 3 && len(list[0]) != 4 && len(list[2]) != 4:
		return nil
	case len(list[0]) == 4 && len(list) == 3 && b >= 1 && b <= 12 && n[2] >= 1 && n[2] <= 31:
		return &day{year: a, month: b, date: n[2]}
	case a > 12 && a <= 31 && b >= 1 && b <= 12 || a == b && a >= 1 && a <= 12:
		return &day{year: year, month: b, date: a}
	case g.dayFirst && a >= 1 && a <= 31 && b >= 1 && b <= 12:
		return &day{year: year, month: b, date: a}
	case b > 12 && b <= 31 && a >= 1 && a <= 12 && strings.Contains(word, "/"):
		return &day{year: year, month: a, date: b}
	}
	return nil
}

// instant reads 2026-12-05T09:00:00+01:00, and 2026-12-05 with or without a time.
func (g *grammar) instant(s *said) bool {
	if s.fixed() || s.day != nil || s.again != nil {
		return false
	}
	on := g.take("on the", "on", "by")
	if !on {
		g.take("at", "the")
	}
	word := strings.ToUpper(g.peek(0))
	if word == "" || word[0] < '0' || word[0] > '9' {
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
		if s.day = g.exactDate(raw); s.day != nil {
			g.at++
			return true
		}
		return g.fail("%s "+twoWays, raw)
	}
	date, rest, joined := strings.Cut(word, "T")
	if len(date) != len("2026-12-05") {
		return false
	}
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		if _, wrong := errors.AsType[*time.ParseError](err); wrong && date[4] == '-' && strings.Trim(date, "0123456789-") == "" {
			return g.fail("there is no day %s", date)
		}
		return false
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
