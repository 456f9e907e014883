package scheduler

import (
	"math/bits"
	"strconv"
	"strings"
)

// monthItem reads days that are said by their month: "the last friday of every month", "the last day of the month", "next
// month on the 28th", "in december on the 26th", "mon, wed and fri".
func (g *grammar) monthItem(s *said) bool {
	if s.fixed() || s.day != nil || s.again != nil {
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
	switch {
	case g.take("of every month", "of each month", "every month", "each month"):
		s.again = &again{month: true, counted: counted}
		return true
	case g.take("of every quarter", "of each quarter", "of the quarter", "every quarter", "each quarter"):
		s.again = &again{month: true, step: 3, quarter: true, counted: counted}
		return true
	case g.take("of next month"):
		s.day = &day{counted: counted, months: 1}
		return true
	case g.take("of this month", "this month"):
		s.day = &day{counted: counted}
		return true
	case g.take("of the month"):
		s.day, s.often = &day{counted: counted}, counted != "L"
		return true
	}
	if m, ok := month(g.peek(1)); ok && g.take("of", "in") {
		g.at++
		s.day = &day{counted: counted, month: m}
		return true
	}
	g.strong = true
	return g.fail("of which month? Write “the %s of every month” or “of december”", wordsOf(g.tokens[begin:g.at]))
}

func wordsOf(tokens []token) string {
	var list []string
	for _, t := range tokens {
		list = append(list, t.word)
	}
	return strings.Join(list, " ")
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

// everyCounted reads "first monday of the month" behind "every".
func (g *grammar) everyCounted() string {
	before := g.at
	counted := g.counted()
	if counted == "" {
		return ""
	}
	last := counted[len(counted)-1]
	if !g.take("of the month", "of every month", "of each month", "in the month", "of a month") && last != '1' && last != 'L' && last != 'W' && last != '5' { // every second monday may be every other
		g.at = before
		return ""
	}
	return counted
}

// figures reads 24 12 2026 and 20261224.
func (g *grammar) figures() *day {
	word := g.peek(0)
	if len(word) == 8 && word[:2] == "20" {
		if n, err := strconv.Atoi(word); err == nil && n%10000/100 >= 1 && n%10000/100 <= 12 && n%100 >= 1 && n%100 <= 31 {
			g.at++
			return &day{year: n / 10000, month: n % 10000 / 100, date: n % 100}
		}
	}
	year, errYear := strconv.Atoi(g.peek(2))
	_, errA := strconv.Atoi(word)
	_, errB := strconv.Atoi(g.peek(1))
	if errA != nil || errB != nil || errYear != nil || len(word) > 2 || len(g.peek(1)) > 2 || year < 2000 || year > 2199 {
		return nil
	}
	d := g.exactDate(word + "/" + g.peek(1) + "/" + g.peek(2))
	if d == nil {
		g.fail("%s %s %d "+twoWays, word, g.peek(1), year)
		return nil
	}
	g.at += 3
	return d
}
