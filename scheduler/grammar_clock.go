package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// readClock reads 9, 9:30, 9:30:15, 9pm and so on.
func readClock(word string) (c clock, ok bool) {
	word = strings.ReplaceAll(word, ".m", "m")
	if strings.Contains(word, ":") { // 18:00h, 18:00:00.000
		word = strings.TrimSuffix(strings.TrimSuffix(word, "hrs"), "h")
		if whole, part, ok := strings.Cut(word, "."); ok && strings.Count(whole, ":") == 2 && strings.Trim(part, "0123456789") == "" {
			word = whole
		}
	}
	if h, m, ok := strings.Cut(word, "h"); ok && len(h) <= 2 && (len(m) == 2 || m == "") { // 18h30
		word = h + ":" + max(m, "00")
	}
	digits, afternoon := strings.CutSuffix(word, "pm")
	digits, morning := strings.CutSuffix(digits, "am")
	list := strings.Split(digits, ":")
	for i, into := range []*int{&c.hour, &c.minute, &c.second} {
		if i >= len(list) {
			break
		}
		n, err := strconv.Atoi(list[i])
		if err != nil || n < 0 || n > 59 || len(list[i]) > 2 || i > 0 && len(list[i]) != 2 || list[i][0] == '+' {
			return c, false
		}
		*into = n
	}
	switch {
	case len(list) > 3 || c.hour > 23 || (morning || afternoon) && (c.hour < 1 || c.hour > 12):
		return c, false
	case morning || afternoon:
		c.hour %= 12
		if afternoon {
			c.hour += 12
		}
	default:
		c.plain = c.hour >= 1 && c.hour <= 12 && list[0][0] != '0'
	}
	return c, true
}

// clock reads a time of the day; bare: also a number alone.
func (g *grammar) clock(bare bool) (c clock, ok bool) {
	switch {
	case g.take("noon", "12 noon", "midday"):
		return clock{hour: 12}, true
	case g.take("midnight", "12 midnight"):
		return clock{midnight: true}, true
	}
	for words, minutes := range map[string]int{"half past": 30, "half-to": -30, "quarter past": 15, "a quarter past": 15, "quarter to": -15, "a quarter to": -15} {
		if g.take(words) {
			if c, ok = g.clock(true); c.minute != 0 || c.midnight {
				return c, false
			}
			return c.later(minutes), ok
		}
	}
	for words, sign := range map[string]int{"to": -1, ":to": -1, "past": 1} { // ten to six, ten past nine
		if n, isNumber := number(g.peek(0)); bare && isNumber && g.peek(1) == words && n > 0 && n < 30 {
			before := g.at
			g.at += 2
			if hour, isNumber := number(g.peek(0)); isNumber && hour <= 24 && hour > 0 && (words != "to" || n%5 == 0) {
				if c, ok = g.clock(true); ok && c.minute == 0 && !c.midnight {
					return c.later(sign * n), true
				}
			}
			g.at = before
		}
	}
	word := g.peek(0)
	if word == "" {
		return c, false
	}
	bare = bare || len(g.peek(1)) == 2 && isDigit(g.peek(1)) && isHalf(g.peek(2)) // 9 30 pm
	if n, isNumber := number(word); isNumber && isLetter(word) && (bare || isHalf(g.peek(1)) || g.peek(1) == "o'clock") {
		word = strconv.Itoa(n)
		bare = true
	}
	if n := len(word); (bare || isHalf(g.peek(1)) || isHalf(word[max(0, n-2):])) && strings.Count(word, ".") == 1 && isDigit(word) { // 9.30, 9.30pm
		word = strings.Replace(word, ".", ":", 1)
	} else if bare && n == 4 && strings.Trim(word, "0123456789") == "" { // 1830
		word = word[:2] + ":" + word[2:]
	}
	for _, half := range []string{"am", "pm", "a.m", "p.m"} {
		if c, isClock := readClock(word); isClock && c.plain && g.peek(1) == half {
			word += half
			bare = true
			defer func() { g.at++ }()
		}
	}
	c, ok = readClock(word)
	if _, err := strconv.Atoi(word); !ok || err == nil && !bare {
		if !ok && strings.Contains(word, ":") && strings.Trim(word, "0123456789:") == "" {
			g.fail("%s is no time of the day", word)
		}
		return c, false
	}
	g.at++
	g.minutes(&c, bare)
	g.take("o'clock", "sharp", "hrs", "h")
	g.minutes(&c, false)
	return c, true
}

// minutes reads what stands behind an hour: "thirty" of "nine thirty", "oh five", "30 pm" of "9 30 pm".
func (g *grammar) minutes(c *clock, bare bool) {
	if c.minute != 0 || c.second != 0 || g.ended(",;") {
		return
	}
	for words, minutes := range map[string]int{":30": 30, ":15": 15, ":-15": -15} {
		if g.take(words) {
			*c = c.later(minutes)
			return
		}
	}
	before := g.at
	oh := g.take("oh", "o")
	word := g.peek(0)
	n, ok := number(word)
	letters := isLetter(word) && isLetter(g.tokens[before-1].word)
	if !ok || n > 59 || oh && n > 9 || !oh && !letters && (len(word) != 2 || !bare || !g.ends(1)) || letters && !oh && n < 10 {
		g.at = before
		return
	}
	c.minute = n
	g.at++
	half := g.peek(0)
	if c.plain && isHalf(half) {
		c.plain = false
		c.hour %= 12
		if half[0] == 'p' {
			c.hour += 12
		}
		g.at++
	}
}

// ends: nothing follows n tokens ahead that could be counted by a number.
func (g *grammar) ends(n int) bool {
	word := g.peek(n)
	return word == "" || isHalf(word) || strings.HasPrefix(word, "·") || slices.Contains(strings.Fields("to that and in on at about of for tomorrow today tonight every remind please"), word)
}

// later is c some minutes later, or earlier.
func (c clock) later(minutes int) clock {
	all := (24*60 + 60*c.hour + c.minute + minutes) % (24 * 60)
	c.hour, c.minute = all/60, all%60
	return c
}

func isLetter(word string) bool { return word != "" && !isDigit(word) }

func isHalf(word string) bool { return word == "am" || word == "pm" || word == "a.m" || word == "p.m" }

// clockItem reads "at 9", "21:30", "at 9 and 18:00".
func (g *grammar) clockItem(s *said) bool {
	if s.fixed() || len(s.clocks) > 0 {
		return false
	}
	named := g.take("at exactly", "exactly at", "at", "@", "by")
	if named && g.take("night") {
		if s.part = parts["night"]; s.day == nil && s.again == nil {
			return false
		}
		return true
	}
	_, isNumber := number(g.peek(0))
	last := g.at+1 == len(g.tokens) || g.peek(1) == "to" || g.peek(1) == "o'clock"
	c, ok := g.clock(named || isNumber && last && (s.day != nil || s.again != nil))
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

// listAhead: a number is next that others follow, as in "8, 12 and 18".
func (g *grammar) listAhead() bool {
	raw := ""
	if g.at < len(g.tokens) {
		raw = g.tokens[g.at].raw
	}
	return isDigit(raw) && (strings.HasSuffix(raw, ",") || g.peek(1) == "and" || g.peek(1) == "&")
}

// partItem reads "in the evening", and "morning" behind a day.
func (g *grammar) partItem(s *said) bool {
	if s.fixed() || s.part != nil || s.day == nil && s.again == nil && len(s.clocks) == 0 {
		return false
	}
	if !g.take("in the", "at") && s.day == nil && s.again == nil {
		return false
	}
	if plural, ok := strings.CutSuffix(g.peek(0), "s"); ok && parts[plural] != nil && s.day != nil && isPlainWeekday(s.day) { // on monday mornings
		s.again, s.day, s.part = &again{weekdays: 1 << s.day.weekday}, nil, parts[plural]
		g.at++
		return true
	}
	if s.part = parts[g.peek(0)]; s.part == nil {
		return false
	}
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
	if n, ok := number(g.peek(0)); ok && s.most == 0 && (g.peek(1) == "times" && g.peek(2) != "a") {
		if n == 0 {
			return g.fail("a job runs 1 time or more")
		}
		g.at += 2
		s.most = n
		return true
	}
	if next := g.peek(1); s.most == 0 && next != "a" && next != "an" && g.take("twice") {
		s.most = 2
		return true
	}
	if s.from == nil && s.until == nil && g.fromTo(s) {
		return true
	}
	if s.hours == nil {
		before := g.at
		if g.take("between", "from") {
			a, ok := g.clock(true)
			if ok && g.take("and", "to", "until", "till") {
				if b, ok := g.clock(true); ok {
					return g.setHours(s, a, b)
				}
			}
			if g.tokens[before].word == "between" {
				return g.fail("hours are written as “between 9:00 and 18:00”")
			}
		}
		g.at = before
	}
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
	first := &day{}
	var ok bool
	if first.date, first.month, ok = g.dateAndMonth(); !ok {
		if first.date, _, ok = date(g.peek(0)); !ok {
			return g.reset(before)
		}
		g.at++
	}
	if !g.take("to the", "to", "until", "till", "through", "-", "–") {
		return g.reset(before)
	}
	last := &day{}
	if last.date, last.month, ok = g.dateAndMonth(); !ok {
		return g.reset(before)
	}
	if first.month == 0 {
		first.month = last.month
	}
	s.from, s.until = &said{bound: true, day: first}, &said{bound: true, day: last}
	return true
}

func (g *grammar) setHours(s *said, a, b clock) bool {
	if b.plain && b.hour < a.hour && a.minute+b.minute == 0 && a.hour < 12 {
		return g.fail("say which hours: “between %02d:00 and %02d:00”, or over midnight “between %02d:00 and %02d:00”", a.hour, b.hour+12, a.hour, b.hour)
	}
	s.hours = &[2]clock{a, b}
	return true
}

// moment reads a bound; nil: there is none.
func (g *grammar) moment() *said {
	m := &said{bound: true}
	for {
		before := g.at
		if g.instant(m) || g.reset(before) || g.dayItem(m) || g.reset(before) || g.clockItem(m) || g.reset(before) || g.partItem(m) {
			continue
		}
		g.at = before
		if c, ok := g.clock(true); ok && len(m.clocks) == 0 && m.day == nil && m.exact.IsZero() {
			m.clocks = []clock{c}
			continue
		}
		g.at = before
		if m.day == nil && len(m.clocks) == 0 && m.exact.IsZero() {
			return nil
		}
		return m
	}
}

func (g *grammar) reset(at int) bool {
	g.at = at
	return false
}

// String is c as HH:MM.
func (c clock) String() string { return fmt.Sprintf("%02d:%02d", c.hour, c.minute) }
