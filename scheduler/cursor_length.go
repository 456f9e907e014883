package scheduler

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const oneDay = 24 * time.Hour

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"day": oneDay, "week": 7 * oneDay, "fortnight": 14 * oneDay,
}

// unit is the length of what a word means, in the singular or the plural.
func unit(word string) (time.Duration, bool) {
	if d, ok := units[word]; ok {
		return d, true
	}
	word, _, _ = strings.Cut(word, "'") // "in 2 hours' time"
	d, ok := units[strings.TrimSuffix(word, "s")]
	return d, ok && len(word) > 2
}

// monthsIn is how many months a word means.
func monthsIn(word string) int {
	return map[string]int{"month": 1, "quarter": 3, "year": 12}[strings.TrimSuffix(word, "s")]
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

var tens = map[string]int{"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}

// number reads a number of at most six digits, or a word for one.
func number(word string) (int, bool) {
	if n := slices.Index(numbers, word); n >= 0 {
		return n, true
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
const longest = 100 * 366 * oneDay

// times is n units, or what is longer than the longest.
func times(n int, u time.Duration) time.Duration { return min(time.Duration(n), longest/u+1) * u }

// length reads "20 minutes", "an hour and a half", "half an hour", "1 hour 30 minutes", "1h30m".
func (c *cursor) length() (d time.Duration, ok bool) {
	switch {
	case c.take("half an hour", "half hour", "a half hour", "half an hour's"):
		return 30 * time.Minute, true
	case c.take("a quarter of an hour", "quarter of an hour", "quarter hour"):
		return 15 * time.Minute, true
	case c.take("three quarters of an hour"):
		return 45 * time.Minute, true
	}
	for {
		before := c.at
		switch {
		case d > longest:
			return 0, c.fail("that is longer than a hundred years")
		case !ok:
		case c.take(":30"): // un'ora e mezza
			return d + 30*time.Minute, d%time.Hour == 0
		case c.take("and a half"):
			return d + d/2, d == time.Hour || d == oneDay || c.fail("“and a half” goes with one hour or one day")
		default:
			c.take("and")
		}
		more, n := c.quantity()
		if n == 0 {
			c.at = before
			return d, ok
		}
		c.at += n
		d, ok = d+more, true
	}
}

// quantity is what the next n words say: "2 hours", "10-minute", "two and a half hours", "1h30". 0: it is no length.
func (c *cursor) quantity() (d time.Duration, n int) {
	word := c.peek(0)
	count, isNumber := number(word)
	if word == "a" || word == "an" {
		count, isNumber = 1, true
	}
	if whole, half := strings.CutSuffix(word, ".5"); half {
		count, ok := number(whole)
		if u, isUnit := unit(c.peek(1)); ok && isUnit && u > time.Second {
			return times(count, u) + u/2, 2
		}
	}
	if one, what, joined := strings.Cut(word, "-"); joined { // a 10-minute timer
		if count, ok := number(one); ok && units[what] != 0 {
			return times(count, units[what]), 1
		}
	}
	at := 1
	if word == "a" && c.peek(1) == "couple" && c.peek(2) == "of" {
		count, at = 2, 3
	}
	if u, isUnit := unit(c.peek(at)); isNumber && isUnit {
		return times(count, u), at + 1
	}
	if u, isUnit := unit(c.peek(at + 3)); isNumber && isUnit && c.peek(at) == "and" && c.peek(at+1) == "a" && c.peek(at+2) == "half" { // two and a half hours
		return times(count, u) + u/2, at + 4
	}
	if h, m, joined := strings.Cut(word, "h"); joined && len(m) == 2 && isDigit(h) && strings.Trim(h+m, "0123456789") == "" && len(h) < 3 { // 1h30
		d, _ = time.ParseDuration(h + "h" + m + "m")
		return d, 1
	}
	if short, err := time.ParseDuration(shorter.Replace(word)); err == nil && short > 0 && short < 1e6*time.Hour && short%time.Second == 0 {
		return short, 1
	}
	return 0, 0
}

// unitsSince are those that the tokens from one on name.
func (c *cursor) unitsSince(from int) (list []time.Duration) {
	for _, t := range c.tokens[from:c.at] {
		if u, ok := unit(t.word); ok {
			list = append(list, u)
		}
	}
	return list
}
