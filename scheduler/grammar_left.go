package scheduler

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How to write what a text must not hold next to a time.
const escape = "; if it is part of the text, write the time first, then “:”"

var (
	joiners    = strings.Fields("and or & + then but not also plus again")
	nearly     = strings.Fields("around about before after from between until till within")
	vague      = strings.Fields("lunch lunchtime dinner dinnertime breakfast supper sunset sunrise dawn dusk bedtime teatime half work school")
	kindsOfDay = strings.Fields("day working work business workday weekday weekend week")
	exceptions = strings.Fields("except but unless excluding apart")
)

// unread fails where what follows belongs to the time, and is nothing that is taken: it must not become part
// of the text.
func (g *grammar) unread(s *said) {
	word, next := g.peek(0), g.peek(1)
	open := s.open()
	if s.again != nil && s.hours != nil && open {
		g.fail("“between … and …” works only with an interval, as in “every hour between 9:00 and 17:00”; otherwise write one time, as in “every day at 9:00”")
	}
	if word == "" || g.err != nil || g.ended(":") {
		return
	}
	near := word
	if strings.Trim(word, quotes+"-–—,") == "" {
		near = next
	}
	if s.clockless() && strings.Contains(near, ":") && figure(near) { // "tomorrow - 18:00"
		g.fail(noClock, near)
		return
	}
	if g.ended(";–-") {
		return
	}
	_, isMonth := month(next)
	_, isNumber := number(next)
	digit := isDigit(strings.TrimLeft(next, quotes))
	counted := s.counted()
	switch {
	case (word == "at" || word == "by" || word == "@") && digit && open:
		g.fail("%s is no time of the day; write 9:30, 21:30 or 9pm", next)
	case open && !counted && slices.Contains(nearly, word) && (digit || isNumber), open && (word == "at" || word == "by" || word != "about" && slices.Contains(nearly, word)) && slices.Contains(vague, next) && !(word == "at" && (next == "work" || next == "school")),
		open && (word == "early" || word == "first" && next == "thing"):
		g.fail("“%s %s” is no exact time; write one such as “at 9:30”", word, next)
	case open && isDigit(word) && !g.ended(",") && len(strings.Trim(word, "0123456789")) <= 1 && len(word) <= 5:
		g.fail("did you mean “at %[1]s”? Then write that; if %[1]s is part of the text, write “:” before it", word)
	case open && figure(word) && !g.ended(","):
		g.fail(noClock, word)
	case s.dated() && word == "in" && isMonth:
		g.fail("a month alone is not understood there; write a date, or a cron expression, such as “cron 0 9 * 12 1” for mondays in december")
	case (slices.Contains(exceptions, word) || word == "not" && g.second(s)) && (s.again != nil || s.every != 0):
		g.fail("exceptions are not taken; name the days on which it is to be, or write a cron expression")
	case (s.again != nil || s.every != 0) && word == "for" && (strings.HasPrefix(g.peek(2), "month") || strings.HasPrefix(g.peek(2), "year")):
		g.fail("write the last day, as in “until 31 december”")
	case (word == "during" || word == "while") && (s.again != nil || s.every != 0):
		g.fail("write hours as “between 9:00 and 17:00”")
	case s.again != nil && s.again.weekdays != 0 && word == "the" && digit:
		g.fail("a weekday together with a date is not understood")
	case s.every != 0 && (word == "at" && (next == "half" || next == "quarter") || word == "on" && next == "the"):
		g.fail("write a cron expression, such as “cron 30 * * * *” for half past each hour")
	case isOrdinal(g.last().word) && (isWeekday(word) || slices.Contains(kindsOfDay, word)):
		g.fail("“the %s %s” is not understood; a job comes on days of the week or on dates, as in “every friday” or “every month on the 1st”", g.last().word, word)
	case s.again != nil && word == "on" && (s.again.week && s.again.weekdays == 0 || s.again.month && s.again.dates == 0 || s.again.year && s.again.dates == 0):
		g.fail("write a day after “on”, as in “every week on monday”, “every month on the 1st”, “every year on 24 december”")
	case s.again != nil && word == "of" && s.again.dates != 0:
		g.fail("“%s” is not understood there; %s", next, taken)
	case len(s.clocks) > 1 && g.ended(",") && figure(word):
		g.fail("write the last time of a list after “and”, as in “at 9, 12 and 15”%s", escape)
	case counted && word == "ago":
		g.err = &PastError{"That time is in the past."}
	case counted && (word == "before" || word == "after" || word == "from") && g.bare:
		g.fail("I can only count from now, as in “in 20 minutes”; otherwise write the exact time")
	case counted && (word == "and" || word == "or") && (isNumber || next == "a" || next == "an" || next == "half"),
		s.wait != 0 && isDigit(word) && (strings.HasPrefix(g.last().word, "h") || strings.HasSuffix(g.last().word, "h")):
		g.fail("write the length like this: “in 2 hours 30 minutes” or “in 90 minutes”")
	case s.day.isWeekday() && (word == "week" || word == "weeks"):
		g.fail("write “%s next week”, or a date", g.last().word)
	case slices.Contains(joiners, word) && g.second(s) || (word == "to" || word == "-" || word == "–" || word == "from") && g.second(s):
		g.fail("“%s %s” is a second time, and a job has one: make a job of each, or write “every monday and thursday” or “every day at 9 and 18:00”%s", word, next, escape)
	}
}

// second: what follows is another time.
func (g *grammar) second(s *said) bool {
	word := g.peek(0)
	joined := slices.Contains(joiners, word)
	ahead := g.lookahead(0)
	for range 3 {
		if slices.Contains(joiners, ahead.peek(0)) {
			ahead.at++
		}
	}
	if word == "to" || word == "-" || word == "–" { // "to 10:30", "to friday"
		ahead.at++
		_, isNumber := number(ahead.peek(0))
		return isWeekday(ahead.peek(0)) && (s.dated() || s.from != nil) || len(s.clocks) > 0 && (isNumber || ahead.clockAhead())
	}
	_, isNumber := number(ahead.peek(0))
	_, _, isDate := date(ahead.peek(0))
	_, isMonth := month(word)
	switch {
	case joined && (isNumber && len(s.clocks) > 0 || isDate && (s.day != nil && s.day.date != 0 || s.again != nil && s.again.months != 0)),
		word == "in" && ahead.take("in the") && parts[ahead.peek(0)] != nil,
		word == "from" && g.lookahead(1).items() != nil:
		return true
	case isWeekday(word) || isMonth || strings.HasSuffix(word, "ly") || isDigit(word) && !strings.Contains(word, ":"): // it is an adjective
		return false
	}
	at := ahead.at
	return ahead.items() != nil && ahead.at > at
}

// What stands around a time, and is no part of it.
const quotes = "([<{\"'“”„‘’«»*_~`"

const noClock = "“%s” is not understood as a time of the day; write one such as 9:30, 21:30 or 9pm; if it is part of the text, write the time first, then “:”"

// figure: a word in any quotes begins with a digit of any script, and may be meant as the time of a clock: not
// "10-minute", "101" or "55000".
func figure(word string) bool {
	word = strings.TrimLeft(word, quotes)
	first, _ := utf8.DecodeRuneInString(word)
	if !unicode.IsDigit(first) {
		return false
	}
	if n, err := strconv.Atoi(word); err == nil {
		return n <= 24 || len(word) > 2 && n <= 2359 && n%100 < 60
	}
	for letters := range strings.FieldsFuncSeq(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(letters) > 3 {
			return strings.Contains(word, ":")
		}
	}
	return true
}
