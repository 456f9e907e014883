package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// A grammar reads tokens from left to right. Its methods advance over what they take, and take nothing where
// they answer no.
type grammar struct {
	tokens []token
	at     int
	start  bool // at the start of the text, where a duration needs no "in"
	bare   bool // a duration had none

	dayFirst bool // 5/12 is the fifth of december
	strong   bool // err is of a time that was said, whatever else there is
	err      error
}

// peek is the word n tokens ahead; empty: there is none.
func (g *grammar) peek(n int) string {
	if g.at+n < len(g.tokens) {
		return g.tokens[g.at+n].word
	}
	return ""
}

// take advances over the first of words that is next, each one of which may be several.
func (g *grammar) take(words ...string) bool {
next:
	for _, w := range words {
		if !strings.Contains(w, " ") {
			if w == g.peek(0) {
				g.at++
				return true
			}
			continue
		}
		list := strings.Fields(w)
		if list[0] != g.peek(0) {
			continue
		}
		for i, word := range list {
			if g.peek(i) != word {
				continue next
			}
		}
		g.at += len(list)
		return true
	}
	return false
}

func (g *grammar) fail(format string, args ...any) bool {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
	return false
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
	begin := g.at
	for took := true; took && g.err == nil && (g.at == begin || !g.ended(":")); { // behind a colon is text
		took = false
		for _, item := range items {
			before := g.at
			if item(s) {
				took = true
				break
			}
			g.at = before
		}
		g.start = false
	}
	if s.wait == 0 && s.exact.IsZero() && s.every == 0 && s.cron == "" && s.again == nil && s.day == nil && len(s.clocks) == 0 {
		return nil
	}
	return s
}

// schedule reads a cron expression.
func (g *grammar) schedule(s *said) bool {
	if s.whole() || s.day != nil || s.again != nil || len(s.clocks) > 0 {
		return false
	}
	if g.take("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually") {
		s.cron = g.tokens[g.at-1].word
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
	if s.cron = strings.Join(fields, " "); len(fields) == 0 {
		return g.fail("after “cron” write an expression of five or six fields, such as “cron 0 8 * * 1-5”")
	}
	return true
}

// bareCron: five fields are next, and are all of the text.
func (g *grammar) bareCron() bool {
	if g.at > 0 || len(g.tokens) != 5 {
		return false
	}
	any := false
	for _, t := range g.tokens {
		any = any || strings.HasPrefix(t.raw, "*")
		if !isCronField(t.raw) {
			return false
		}
	}
	return any
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
