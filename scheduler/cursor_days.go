package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// weekday reads a day of the week; long: not an abbreviation, which may be another word.
func weekday(word string) (d time.Weekday, long, ok bool) {
	d, ok = weekdays[word]
	return d, ok && len(word) > 4, ok
}

// weekdays are the days by their names, which are in the plural too, and by the first three and four letters of those.
var weekdays = func() map[string]time.Weekday {
	by := map[string]time.Weekday{}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		by[name], by[name+"s"], by[name[:3]], by[name[:4]] = d, d, d, d
	}
	return by
}()

func isWeekday(word string) bool {
	_, _, ok := weekday(word)
	return ok
}

// month reads a month.
func month(word string) (int, bool) {
	m, ok := months[word]
	return m, ok
}

// months are the months by their names and the first three letters of those.
var months = func() map[string]int {
	by := map[string]int{}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		by[name], by[name[:3]] = int(m), int(m)
	}
	return by
}()

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

func isOrdinal(word string) bool {
	_, ordinal, _ := date(word)
	return ordinal || slices.Contains(ordinals, word)
}

var ordinals = strings.Fields("first second third fourth fifth last")

const (
	workdays = 0b0111110
	weekend  = 1<<time.Saturday | 1<<time.Sunday
)

var workday = []string{"weekday", "workday", "working day", "work day", "business day"}

// dateAndMonth reads "5 december", "5th of december", "december 5".
func (c *cursor) dateAndMonth() (d, m int, ok bool) {
	before := c.at
	if m, ok = month(c.peek(0)); ok {
		c.at++
		c.take("the")
		d, _, ok = date(c.peek(0))
	} else if d, _, ok = date(c.peek(0)); ok {
		c.at++
		c.take("of")
		m, ok = month(c.peek(0))
	}
	if !ok {
		c.at = before
		return 0, 0, false
	}
	c.at++
	return d, m, true
}

// counted reads "first monday", "last day", as cron writes them; empty: it is none.
func (c *cursor) counted() string {
	if c.take("last day") {
		return "L"
	}
	before := c.at
	if last := c.take("last"); (last || c.take("first", "1st")) && c.take(workday...) {
		return map[bool]string{true: "LW", false: "1W"}[last]
	}
	c.at = before
	w, _, ok := weekday(c.peek(1))
	n := slices.Index(ordinals, c.peek(0))
	if d, ordinal, isDate := date(c.peek(0)); n < 0 && isDate && ordinal {
		n = d - 1
	}
	switch {
	case !ok || n < 0 || n >= len(ordinals):
		return ""
	case n == len(ordinals)-1:
		c.at += 2
		return fmt.Sprintf("%dL", w)
	}
	c.at += 2
	return fmt.Sprintf("%d#%d", w, n+1)
}

// weekdays reads a list of them.
func (c *cursor) weekdays() (set uint64) {
	for range 20 { // a text may consist of them
		before := c.at
		if set != 0 {
			c.take("and", "&")
		}
		if span := c.weekdayRange(); span != 0 {
			set |= span
			continue
		}
		d, _, ok := weekday(c.peek(0))
		if !ok {
			c.at = before
			return set
		}
		set |= 1 << d
		c.at++
	}
	return set
}

// weekdayRange reads "monday to friday", "mon-fri"; empty: there is none.
func (c *cursor) weekdayRange() (set uint64) {
	before := c.at
	from, to, joined := strings.Cut(c.peek(0), "-")
	first, _, ok := weekday(from)
	if c.at++; !joined && c.take("to", "through", "thru", "till", "until", "-", "–") {
		to = c.peek(0)
		c.at++
	}
	last, _, ends := weekday(to)
	if !ok || !ends {
		c.at = before
		return 0
	}
	for d := first; ; d = (d + 1) % 7 {
		if set |= 1 << d; d == last {
			return set
		}
	}
}

// dates reads a list of them.
func (c *cursor) dates() (set uint64) {
	for range 40 {
		before := c.at
		if set != 0 {
			c.take("and the", "and")
		}
		d, ordinal, ok := date(c.peek(0))
		if !ok || !ordinal && (set != 0 || c.peek(1) != "" && c.peek(1) != "at") {
			c.at = before
			return set
		}
		set |= 1 << d
		c.at++
	}
	return set
}

// namedMonths reads "of january, april and july"; more: some of them were read.
func (c *cursor) namedMonths(more bool) (set uint64) {
	for {
		before := c.at
		joined := !more && c.take("of", "in") || more && (c.take("and") || c.ended(","))
		m, ok := month(c.peek(0))
		if !ok || !joined {
			c.at = before
			return set
		}
		set |= 1 << m
		more = true
		c.at++
	}
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

const twoWays = "is a date that can be read in two ways; write it as 2026-12-05 or 5 december"

// exactDate is a date in numbers that is read in one way only: 24.12.2026, 12/24/2026, 2026/12/24; nil: it is not.
func (c *cursor) exactDate(word string) *day {
	var n [3]int
	word = strings.Trim(word, ".,;:!?")
	list := strings.FieldsFunc(word, func(r rune) bool { return r == '.' || r == '/' || r == '-' })
	for i, part := range list[:min(3, len(list))] {
		n[i], _ = strconv.Atoi(part)
	}
	fits := func(month, date int) bool { return month >= 1 && month <= 12 && date >= 1 && date <= 31 }
	switch a, b, year := n[0], n[1], n[2]; {
	case len(list) < 2 || len(list) == 3 && len(list[0]) != 4 && len(list[2]) != 4:
		return nil
	case len(list[0]) == 4 && len(list) == 3 && fits(b, n[2]):
		return &day{year: a, month: b, date: n[2]}
	case fits(b, a) && (a > 12 || a == b || c.dayFirst):
		return &day{year: year, month: b, date: a}
	case fits(a, b) && b > 12 && strings.Contains(word, "/"):
		return &day{year: year, month: a, date: b}
	}
	return nil
}

// figures reads 24 12 2026 and 20261224.
func (c *cursor) figures() *day {
	word := c.peek(0)
	if len(word) == 8 && word[:2] == "20" {
		if n, err := strconv.Atoi(word); err == nil && n%10000/100 >= 1 && n%10000/100 <= 12 && n%100 >= 1 && n%100 <= 31 {
			c.at++
			return &day{year: n / 10000, month: n % 10000 / 100, date: n % 100}
		}
	}
	year, errYear := strconv.Atoi(c.peek(2))
	_, errA := strconv.Atoi(word)
	_, errB := strconv.Atoi(c.peek(1))
	if errA != nil || errB != nil || errYear != nil || len(word) > 2 || len(c.peek(1)) > 2 || year < 2000 || year > 2199 {
		return nil
	}
	d := c.exactDate(word + "/" + c.peek(1) + "/" + c.peek(2))
	if d == nil {
		c.fail("%s %s %d "+twoWays, word, c.peek(1), year)
		return nil
	}
	c.at += 3
	return d
}
