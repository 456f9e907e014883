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
	for i, into := range []*int{&c.hour, &c.minute, &c.second}[:min(len(list), 3)] {
		n, err := strconv.Atoi(list[i])
		if err != nil || n < 0 || n > 59 || len(list[i]) > 2 || i > 0 && len(list[i]) != 2 || list[i][0] == '+' {
			return c, false
		}
		*into = n
	}
	half := morning || afternoon
	if len(list) > 3 || c.hour > 23 || half && (c.hour < 1 || c.hour > 12) {
		return c, false
	}
	if c.plain = !half && c.hour >= 1 && c.hour <= 12 && list[0][0] != '0'; half {
		c.hour = inHalf(c.hour, afternoon)
	}
	return c, true
}

// inHalf is an hour from 1 to 12 in its half of the day.
func inHalf(hour int, afternoon bool) int {
	if hour %= 12; afternoon {
		hour += 12
	}
	return hour
}

// How the minutes are said that an hour is earlier or later: before it and behind it.
var (
	beforeHour = map[string]int{"half past": 30, "half-to": -30, "quarter past": 15, "a quarter past": 15, "quarter to": -15, "a quarter to": -15}
	behindHour = map[string]int{":30": 30, ":15": 15, ":-15": -15}
)

// clock reads a time of the day; bare: also a number alone.
func (c *cursor) clock(bare bool) (t clock, ok bool) {
	switch {
	case c.take("noon", "12 noon", "midday"):
		return clock{hour: 12}, true
	case c.take("midnight", "12 midnight"):
		return clock{midnight: true}, true
	}
	for words, minutes := range beforeHour {
		if c.take(words) {
			t, ok = c.clock(true)
			return t.later(minutes), ok && t.minute == 0 && !t.midnight
		}
	}
	word, next := c.peek(0), c.peek(1)
	n, isNumber := number(word)
	if sign := map[string]int{"to": -1, ":to": -1, "past": 1}[next]; bare && isNumber && sign != 0 && n > 0 && n < 30 { // ten to six, ten past nine
		before := c.at
		c.at += 2
		if hour, isNumber := number(c.peek(0)); isNumber && hour <= 24 && hour > 0 && (next != "to" || n%5 == 0) {
			if t, ok = c.clock(true); ok && t.minute == 0 && !t.midnight {
				return t.later(sign * n), true
			}
		}
		c.at = before
	}
	if word == "" {
		return t, false
	}
	bare = bare || len(next) == 2 && isDigit(next) && isHalf(c.peek(2)) // 9 30 pm
	if isNumber && isLetter(word) && (bare || isHalf(next) || next == "o'clock") {
		word = strconv.Itoa(n)
		bare = true
	}
	if n := len(word); (bare || isHalf(next) || isHalf(word[max(0, n-2):])) && strings.Count(word, ".") == 1 && isDigit(word) { // 9.30, 9.30pm
		word = strings.Replace(word, ".", ":", 1)
	} else if bare && n == 4 && strings.Trim(word, "0123456789") == "" { // 1830
		word = word[:2] + ":" + word[2:]
	}
	t, ok = readClock(word)
	switch _, err := strconv.Atoi(word); {
	case ok && t.plain && isHalf(next):
		c.at += 2
		return readClock(word + next)
	case !ok && strings.Contains(word, ":") && strings.Trim(word, "0123456789:") == "":
		return t, c.fail("%s is no time of the day", word)
	case !ok || err == nil && !bare:
		return t, false
	}
	c.at++
	c.minutes(&t, bare)
	c.take("o'clock", "sharp", "hrs", "h")
	c.minutes(&t, false)
	return t, true
}

// minutes reads what stands behind an hour: "thirty" of "nine thirty", "oh five", "30 pm" of "9 30 pm".
func (c *cursor) minutes(t *clock, bare bool) {
	if t.minute != 0 || t.second != 0 || c.ended(",;") {
		return
	}
	for words, minutes := range behindHour {
		if c.take(words) {
			*t = t.later(minutes)
			return
		}
	}
	before := c.at
	oh := c.take("oh", "o")
	word := c.peek(0)
	n, ok := number(word)
	letters := isLetter(word) && isLetter(c.tokens[before-1].word)
	if !ok || n > 59 || oh && n > 9 || !oh && !letters && (len(word) != 2 || !bare || !c.uncounted(1)) || letters && !oh && n < 10 {
		c.at = before
		return
	}
	t.minute = n
	c.at++
	if half := c.peek(0); t.plain && isHalf(half) {
		t.plain, t.hour = false, inHalf(t.hour, half[0] == 'p')
		c.at++
	}
}

// What may stand behind the minutes of a clock.
var behindClock = strings.Fields("to that and in on at about of for tomorrow today tonight every remind please")

// uncounted: nothing follows n tokens ahead that could be counted by a number.
func (c *cursor) uncounted(n int) bool {
	word := c.peek(n)
	return word == "" || isHalf(word) || strings.HasPrefix(word, "·") || slices.Contains(behindClock, word)
}

// listAhead: a number is next that others follow, as in "8, 12 and 18".
func (c *cursor) listAhead() bool {
	if c.at == len(c.tokens) {
		return false
	}
	raw := c.tokens[c.at].raw
	return isDigit(raw) && (strings.HasSuffix(raw, ",") || c.peek(1) == "and" || c.peek(1) == "&")
}

// later is c some minutes later, or earlier.
func (c clock) later(minutes int) clock {
	all := (24*60 + 60*c.hour + c.minute + minutes) % (24 * 60)
	c.hour, c.minute = all/60, all%60
	return c
}

func isHalf(word string) bool { return word == "am" || word == "pm" || word == "a.m" || word == "p.m" }

// String is c as HH:MM.
func (c clock) String() string { return fmt.Sprintf("%02d:%02d", c.hour, c.minute) }
