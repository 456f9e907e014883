package scheduler

import "strings"

// clockItem reads "at 9", "21:30", "at 9 and 18:00".
func (g *grammar) clockItem(s *said) bool {
	if s.fixed() || len(s.clocks) > 0 {
		return false
	}
	named := g.take("at exactly", "exactly at", "at", "@", "by")
	if named && g.take("night") {
		s.part = parts["night"]
		return s.dated()
	}
	_, isNumber := number(g.peek(0))
	last := g.at+1 == len(g.tokens) || g.peek(1) == "to" || g.peek(1) == "o'clock"
	c, ok := g.clock(named || isNumber && last && s.dated())
	if !ok {
		return false
	}
	s.clocks = []clock{c}
	for range 24 {
		before := g.at
		more := g.take("and", "&") || g.ended(",") && s.again != nil && g.listAhead()
		if c, ok := g.clock(more); ok && (more || s.again != nil) {
			s.clocks = append(s.clocks, c)
			continue
		}
		g.at = before
		break
	}
	return true
}

// clockAhead: the next is a time of the day.
func (g *grammar) clockAhead() bool { return g.lookahead(0).clockItem(&said{}) }

// partItem reads "in the evening", and "morning" behind a day.
func (g *grammar) partItem(s *said) bool {
	if s.fixed() || s.part != nil || !s.dated() && len(s.clocks) == 0 {
		return false
	}
	if !g.take("in the", "at") && !s.dated() {
		return false
	}
	p := parts[g.peek(0)]
	if plural, ok := strings.CutSuffix(g.peek(0), "s"); ok && parts[plural] != nil && s.day.isWeekday() { // on monday mornings
		s.again, s.day, p = &again{weekdays: 1 << s.day.weekday}, nil, parts[plural]
	}
	if p == nil {
		return false
	}
	s.part = p
	g.at++
	return true
}

// bounds reads "between 9:00 and 18:00", "from 1 december", "until friday at 18:00", "5 times".
func (g *grammar) bounds(s *said) bool {
	if s.again == nil && s.every == 0 && s.cron == "" {
		return false
	}
	if s.until == nil && s.span == 0 && g.take("for the next", "for") {
		d, ok := g.length()
		s.span = d
		return ok
	}
	next := g.peek(1)
	if n, ok := number(g.peek(0)); ok && s.most == 0 && next == "times" && g.peek(2) != "a" {
		g.at += 2
		s.most = n
		return n > 0 || g.fail("a job runs 1 time or more")
	}
	if s.most == 0 && next != "a" && next != "an" && g.take("twice") {
		s.most = 2
		return true
	}
	if s.from == nil && s.until == nil && g.fromTo(s) {
		return true
	}
	before := g.at
	if s.hours == nil && g.take("between", "from") {
		a, ok := g.clock(true)
		if ok && g.take("and", "to", "until", "till") {
			if b, ok := g.clock(true); ok {
				if b.plain && b.hour < a.hour && a.minute+b.minute == 0 && a.hour < 12 {
					return g.fail("say which hours: “between %02d:00 and %02d:00”, or over midnight “between %02d:00 and %02d:00”", a.hour, b.hour+12, a.hour, b.hour)
				}
				s.hours = &[2]clock{a, b}
				return true
			}
		}
		if g.tokens[before].word == "between" {
			return g.fail("hours are written as “between 9:00 and 18:00”")
		}
	}
	g.at = before
	switch {
	case s.from == nil && g.take("from", "starting", "beginning"):
		s.from = g.moment()
		return s.from != nil || g.fail("after “from” write a day or a time")
	case s.until == nil && g.take("until", "till", "through"):
		s.until = g.moment()
		return s.until != nil || g.fail("after “until” write a day or a time")
	}
	return false
}

// fromTo reads "from 1 december to 5 december", "from 1 to 5 december".
func (g *grammar) fromTo(s *said) bool {
	before := g.at
	if !g.take("from") {
		return false
	}
	g.take("the")
	first, last := &day{}, &day{}
	var ok bool
	if first.date, first.month, ok = g.dateAndMonth(); !ok {
		if first.date, _, ok = date(g.peek(0)); ok {
			g.at++
		}
	}
	if !ok || !g.take("to the", "to", "until", "till", "through", "-", "–") {
		return g.reset(before)
	}
	if last.date, last.month, ok = g.dateAndMonth(); !ok {
		return g.reset(before)
	}
	if first.month == 0 {
		first.month = last.month
	}
	s.from, s.until = &said{bound: true, day: first}, &said{bound: true, day: last}
	return true
}

// moment reads a bound; nil: there is none.
func (g *grammar) moment() *said {
	m := &said{bound: true}
	number := func(m *said) bool {
		c, ok := g.clock(true)
		if ok = ok && m.empty(); ok {
			m.clocks = []clock{c}
		}
		return ok
	}
	for g.oneOf(m, g.instant, g.dayItem, g.clockItem, g.partItem, number) {
	}
	if m.empty() {
		return nil
	}
	return m
}
