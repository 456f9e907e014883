package scheduler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A grammar reads tokens from left to right. Its methods advance over what they take, and take nothing where
// they answer no.
type grammar struct {
	tokens []token
	at     int
	start  bool // at the start of the text, where a duration needs no "in"
	err    error
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
		list := strings.Fields(w)
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

// parse reads a time from here on; nil: there is none.
func (g *grammar) parse() *said {
	begin, s := g.at, &said{}
	g.take("once")
	items := []func(*said) bool{g.schedule, g.again, g.delay, g.instant, g.dayItem, g.clockItem, g.partItem, g.bounds, g.zoneItem}
	for took := true; took && g.err == nil; {
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
		g.at = begin
		return nil
	}
	g.unread(s)
	return s
}

// unread fails where what follows belongs to the time, and is nothing that is taken: it must not become part
// of the text.
func (g *grammar) unread(s *said) {
	next, digit := g.peek(1), g.peek(1) != "" && g.peek(1)[0] >= '0' && g.peek(1)[0] <= '9'
	switch word := g.peek(0); {
	case word == "at" && digit && len(s.clocks) == 0 && !s.fixed():
		g.fail("%s is no time of the day; write 9:30, 21:30 or 9pm", next)
	case (word == "except" || word == "but" || word == "unless") && (s.again != nil || s.every != 0):
		g.fail("exceptions are not taken; name the days on which it is to be, or write a cron expression")
	case s.again != nil && s.again.weekdays != 0 && word == "the" && digit:
		g.fail("a weekday that has a certain date is not taken")
	case s.again != nil && word == "of" && s.again.dates != 0:
		g.fail("%s is not taken there; %s", next, taken)
	}
}

// numericDate: a word is a date such as 5/12 or 5.12.2026.
func numericDate(word string) bool {
	word = strings.TrimRight(word, ",;:!?")
	n := strings.Count(word, "/")
	return strings.Trim(word, "0123456789/") == "" && (n == 1 || n == 2) && word[0] != '/' && word[len(word)-1] != '/' ||
		strings.Trim(word, "0123456789.") == "" && strings.Count(word, ".") == 2 && word[0] != '.'
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
	if !g.take("cron") {
		return false
	}
	var fields []string
	for closed := false; !closed && len(fields) < 6 && g.at < len(g.tokens); g.at++ {
		raw := g.tokens[g.at].raw
		field := strings.Trim(raw, "`\"'")
		if !cronField(field) {
			break
		}
		fields = append(fields, field)
		closed = strings.ContainsAny(raw[len(raw)-1:], "`\"'")
	}
	if s.cron = strings.Join(fields, " "); len(fields) == 0 {
		return g.fail("behind “cron” comes an expression of five or six fields, such as “cron 0 8 * * 1-5”")
	}
	return true
}

// cronField: a word may be a field of a cron expression, or a descriptor.
func cronField(word string) bool {
	if strings.HasPrefix(word, "@") {
		return true
	}
	for name := range strings.FieldsFuncSeq(strings.ToLower(word), func(r rune) bool { return strings.ContainsRune("0123456789*/,-?", r) }) {
		if len(name) != 3 || !strings.Contains(" jan feb mar apr may jun jul aug sep oct nov dec sun mon tue wed thu fri sat ", " "+name+" ") {
			return false
		}
	}
	return true
}

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// unit is the length of what a word means, in the singular or the plural.
func unit(word string) (time.Duration, bool) {
	if d, ok := units[word]; ok {
		return d, true
	}
	d, ok := units[strings.TrimSuffix(word, "s")]
	return d, ok && len(word) > 2
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

var tens = map[string]int{"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "sixty": 60, "ninety": 90}

// number reads a number of at most six digits, or a word for one.
func number(word string) (int, bool) {
	for i, w := range numbers {
		if w == word {
			return i, true
		}
	}
	if n, ok := tens[word]; ok {
		return n, true
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 0 && len(word) <= 6 && word[0] != '+'
}

// length reads "20 minutes", "an hour and a half", "half an hour", "1 hour 30 minutes", "1h30m".
func (g *grammar) length() (d time.Duration, ok bool) {
	if g.take("half an hour", "half hour") {
		return 30 * time.Minute, true
	}
	for {
		before := g.at
		if ok && !g.take("and a half") {
			g.take("and")
		} else if ok {
			return d + d/2, d == time.Hour || d == 24*time.Hour || g.fail("“and a half” goes with one hour or one day")
		}
		n, isNumber := number(g.peek(0))
		if g.peek(0) == "a" || g.peek(0) == "an" {
			n, isNumber = 1, true
		}
		whole, half := strings.CutSuffix(g.peek(0), ".5")
		if n, ok2 := number(whole); half && ok2 {
			if u, isUnit := unit(g.peek(1)); isUnit && u > time.Second {
				g.at += 2
				d, ok = d+time.Duration(n)*u+u/2, true
				continue
			}
		}
		if u, isUnit := unit(g.peek(1)); isNumber && isUnit {
			g.at += 2
			d, ok = d+time.Duration(n)*u, true
			continue
		}
		if short, err := time.ParseDuration(g.peek(0)); err == nil && short > 0 && short < 1e6*time.Hour && short%time.Second == 0 {
			g.at++
			d, ok = d+short, true
			continue
		}
		g.at = before
		return d, ok
	}
}

// delay reads "in 20 minutes", "in 2 days", "in a month"; at the start of a text also "20 minutes".
func (g *grammar) delay(s *said) bool {
	if s.whole() || s.day != nil || s.again != nil || len(s.clocks) > 0 || !g.take("in", "after") && !g.start {
		return false
	}
	for word, months := range map[string]int{"month": 1, "year": 12} {
		n, ok := number(g.peek(0))
		if g.peek(0) == "a" {
			n, ok = 1, true
		}
		if what := strings.TrimSuffix(g.peek(1), "s"); ok && what == word && n < 1200 {
			g.at += 2
			s.day = &day{months: n * months}
			return n > 0 || g.fail("that is now; %s", taken)
		}
	}
	d, ok := g.length()
	switch {
	case !ok:
		return false
	case d <= 0:
		return g.fail("that is now; %s", taken)
	case d > 100*366*24*time.Hour:
		return g.fail("that is more than a hundred years ahead")
	case d%(24*time.Hour) == 0:
		g.take("from now")
		s.day = &day{days: int(d / (24 * time.Hour))}
	default:
		g.take("from now")
		s.wait = d
	}
	return true
}

// instant reads 2026-12-05T09:00:00+01:00, and 2026-12-05 with or without a time.
func (g *grammar) instant(s *said) bool {
	if s.fixed() || s.day != nil || s.again != nil {
		return false
	}
	g.take("on", "at")
	word := strings.ToUpper(g.peek(0))
	if word == "" || word[0] < '0' || word[0] > '9' {
		return false
	}
	if t, err := time.Parse(time.RFC3339, word); err == nil && len(s.clocks) == 0 {
		s.exact = t
		g.at++
		return true
	}
	if g.at < len(g.tokens) && numericDate(g.tokens[g.at].raw) {
		return g.fail("%s is a date that is read in two ways; write it as 2026-12-05 or 5 december", g.tokens[g.at].raw)
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

// zoneItem reads "(Europe/Rome)", "Europe/Rome", "UTC".
func (g *grammar) zoneItem(s *said) bool {
	if s.zone != "" {
		return false
	}
	if g.peek(0) == "in" {
		g.at++
	}
	if g.at >= len(g.tokens) {
		return false
	}
	raw := strings.TrimRight(g.tokens[g.at].raw, ",;:.!?")
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "("), ")")
	if !strings.Contains(name, "/") && name != "UTC" && raw == name || strings.ToLower(name) == name {
		return false
	}
	if _, err := Zone(name); err != nil {
		return false
	}
	s.zone = name
	g.at++
	return true
}
