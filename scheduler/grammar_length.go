package scheduler

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "fortnight": 14 * 24 * time.Hour,
}

// unit is the length of what a word means, in the singular or the plural.
func unit(word string) (time.Duration, bool) {
	if d, ok := units[word]; ok {
		return d, true
	}
	word, _, _ = strings.Cut(strings.ReplaceAll(word, "’", "'"), "'") // "in 2 hours' time"
	d, ok := units[strings.TrimSuffix(word, "s")]
	return d, ok && len(word) > 2
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

var tens = map[string]int{"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}

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
	if ten, one, ok := strings.Cut(word, "-"); ok && tens[ten] >= 20 { // twenty-five
		if i := slices.Index(numbers[:10], one); i > 0 {
			return tens[ten] + i, true
		}
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 0 && len(word) <= 6 && word[0] != '+'
}

// shorter writes "90min" and "2hrs" as Go does.
var shorter = strings.NewReplacer("mins", "m", "min", "m", "hrs", "h", "hr", "h", "secs", "s", "sec", "s")

// longest is what a length may be: a few of them make no number that is too large.
const longest = 100 * 366 * 24 * time.Hour

// times is n units, or what is longer than the longest.
func times(n int, u time.Duration) time.Duration { return min(time.Duration(n), longest/u+1) * u }

// length reads "20 minutes", "an hour and a half", "half an hour", "1 hour 30 minutes", "1h30m".
func (g *grammar) length() (d time.Duration, ok bool) {
	switch {
	case g.take("half an hour", "half hour", "a half hour", "half an hour's"):
		return 30 * time.Minute, true
	case g.take("a quarter of an hour", "quarter of an hour", "quarter hour"):
		return 15 * time.Minute, true
	case g.take("three quarters of an hour"):
		return 45 * time.Minute, true
	}
	for {
		if d > longest {
			return 0, g.fail("that is longer than a hundred years")
		}
		before := g.at
		if ok && g.take(":30") { // un'ora e mezza
			return d + 30*time.Minute, d%time.Hour == 0
		}
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
				d, ok = d+times(n, u)+u/2, true
				continue
			}
		}
		if count, what, joined := strings.Cut(g.peek(0), "-"); joined { // a 10-minute timer
			if n, ok2 := number(count); ok2 && units[what] != 0 {
				g.at++
				d, ok = d+times(n, units[what]), true
				continue
			}
		}
		if g.peek(0) == "a" && g.peek(1) == "couple" && g.peek(2) == "of" {
			n, isNumber = 2, true
			g.at += 2
		}
		if u, isUnit := unit(g.peek(4)); isNumber && isUnit && g.peek(1) == "and" && g.peek(2) == "a" && g.peek(3) == "half" { // two and a half hours
			g.at += 5
			d, ok = d+times(n, u)+u/2, true
			continue
		}
		if u, isUnit := unit(g.peek(1)); isNumber && isUnit {
			g.at += 2
			d, ok = d+times(n, u), true
			continue
		}
		if h, m, joined := strings.Cut(g.peek(0), "h"); joined && len(m) == 2 && isDigit(h) && strings.Trim(h+m, "0123456789") == "" && len(h) < 3 { // 1h30
			hours, _ := strconv.Atoi(h)
			minutes, _ := strconv.Atoi(m)
			g.at++
			d, ok = d+time.Duration(60*hours+minutes)*time.Minute, true
			continue
		}
		if short, err := time.ParseDuration(shorter.Replace(g.peek(0))); err == nil && short > 0 && short < 1e6*time.Hour && short%time.Second == 0 {
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
	if s.whole() || s.day != nil || s.again != nil || len(s.clocks) > 0 {
		return false
	}
	if g.bare = !g.take("in about", "in around", "in exactly", "in", "after"); g.bare && !g.start {
		return false
	}
	if word := g.peek(0); !g.bare && (len(word) > 1 && word[0] == '-' && isDigit(word[1:]) || word == "minus") {
		return g.fail("that time is not in the future; write a number above zero, as in “in 5 minutes”")
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
	before := g.at
	d, ok := g.length()
	days := false
	for _, t := range g.tokens[before:g.at] {
		u, _ := unit(t.word)
		days = days || u >= 24*time.Hour
		s.seconds = s.seconds || u == time.Second
	}
	s.seconds = s.seconds || d%time.Minute != 0
	switch {
	case !ok:
		return false
	case d <= 0:
		return g.fail("that is now; %s", taken)
	case d%(24*time.Hour) == 0 && days: // by the calendar, where 24 hours are as long wherever clocks change
		g.ahead()
		s.day = &day{days: int(d / (24 * time.Hour))}
	default:
		g.ahead()
		s.wait = d
	}
	return true
}

// ahead reads what may stand behind a delay and means no more.
func (g *grammar) ahead() {
	if last := g.tokens[g.at-1].word; strings.HasSuffix(last, "'") || strings.HasSuffix(last, "'s") || strings.HasSuffix(last, "’") || strings.HasSuffix(last, "’s") {
		g.take("time")
	}
	g.take("from now", "later")
}
