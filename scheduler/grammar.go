package scheduler

import (
	"slices"
	"strings"
)

// A grammar reads a time, part by part, into what is said.
type grammar struct {
	cursor
	start  bool // at the start of the text, where a duration needs no "in"
	bare   bool // a duration had none
	strong bool // err is of a time that was said, whatever else there is
}

// lookahead is a grammar that reads n tokens ahead of this one, which stays where it is.
func (g *grammar) lookahead(n int) *grammar {
	return &grammar{cursor: cursor{tokens: g.tokens, at: g.at + n}}
}

// parse reads a time from here on, to its end; nil: there is none.
func (g *grammar) parse() *said {
	begin := g.at
	s := g.items()
	if s == nil {
		g.at = begin
		return nil
	}
	if len(s.clocks) > 1 && s.again == nil {
		g.fail("that is several times: make a job of each, or write “every day at 9 and 18:00”")
	}
	s.bare = g.bare && (s.wait != 0 || s.counted())
	g.unread(s)
	return s
}

// items reads the parts of a time; nil: there are none.
func (g *grammar) items() *said {
	s := &said{}
	if next := g.peek(1); next != "a" && next != "an" && next != "every" { // "once a day"
		g.take("once", "exactly")
	}
	items := []func(*said) bool{g.schedule, g.again, g.delay, g.instant, g.monthItem, g.dayItem, g.clockItem, g.partItem, g.onDays, g.bounds, g.zoneItem}
	for begin := g.at; g.err == nil && (g.at == begin || !g.ended(":")) && g.oneOf(s, items...); { // behind a colon is text
		g.start = false
	}
	g.start = false
	if s.empty() && s.every == 0 && s.wait == 0 && s.cron == "" && s.again == nil {
		return nil
	}
	return s
}

// oneOf reads the first of some items that is next.
func (g *grammar) oneOf(s *said, items ...func(*said) bool) bool {
	before := g.at
	return slices.ContainsFunc(items, func(item func(*said) bool) bool { return item(s) || g.reset(before) })
}

// schedule reads a cron expression.
func (g *grammar) schedule(s *said) bool {
	if s.whole() || s.dated() || len(s.clocks) > 0 {
		return false
	}
	if g.take("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually") {
		s.cron = g.last().word
		return true
	}
	if !g.take("cron") && !g.bareCron() {
		return false
	}
	var fields []string
	for closed := false; !closed && len(fields) < 6 && g.at < len(g.tokens); g.at++ {
		raw := g.tokens[g.at].raw
		field := strings.Trim(raw, "`\"'")
		if !isCronField(field) {
			break
		}
		fields = append(fields, field)
		closed = strings.ContainsAny(raw[len(raw)-1:], "`\"'")
	}
	s.cron = strings.Join(fields, " ")
	return len(fields) > 0 || g.fail("after “cron” write an expression of five or six fields, such as “cron 0 8 * * 1-5”")
}

// bareCron: five fields are next, and are all of the text.
func (g *grammar) bareCron() bool {
	return g.at == 0 && len(g.tokens) == 5 && !slices.ContainsFunc(g.tokens, func(t token) bool { return !isCronField(t.raw) }) &&
		slices.ContainsFunc(g.tokens, func(t token) bool { return strings.HasPrefix(t.raw, "*") })
}

// isCronField: a word may be a field of a cron expression, or a descriptor.
func isCronField(word string) bool {
	if strings.HasPrefix(word, "@") {
		return true
	}
	for name := range strings.FieldsFuncSeq(strings.ToLower(word), func(r rune) bool { return strings.ContainsRune("0123456789*/,-?#", r) }) {
		if name != "l" && name != "w" && name != "lw" && !slices.Contains(cronMonths, name) && !slices.Contains(cronWeekdays, name) {
			return false
		}
	}
	return true
}
