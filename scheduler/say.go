package scheduler

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

const and = " and "

const moment = "Monday 2 January 2006 at 15:04"

// String is s for people, in words that Read takes; what is not valid is a cron expression or so. It
// names the zone where the clock matters.
func (s *Spec) String() string { return s.say(sayCron) }

// Words is String for people who only read it: more cron expressions are in words that Read does not take.
func (s *Spec) Words() string {
	return s.say(func(cron string) string {
		said := sayCron(cron)
		if hourly := sayHourly(cron); hourly != "" && strings.HasPrefix(said, "cron ") {
			return hourly
		}
		return said
	})
}

func (s *Spec) say(cron func(string) string) string {
	zone := s.Location()
	var b strings.Builder
	clock := true
	switch {
	case s.At != "":
		at := s.At
		if p, err := s.read(); err == nil {
			at = sayMoment(p.next(time.Time{}), zone)
		}
		b.WriteString("once, " + at)
	case s.Wall:
		b.WriteString("every " + s.sayDays(zone))
	case s.Every != 0:
		b.WriteString("every " + sayInterval(s.Every))
		clock = false
	default:
		b.WriteString(cron(s.Cron))
	}
	if s.Hours != "" {
		b.WriteString(" between " + strings.NewReplacer("-", and, "24:00", "midnight").Replace(s.Hours))
	}
	if !s.From.IsZero() {
		b.WriteString(" from " + sayMoment(s.From, zone))
	}
	if !s.Until.IsZero() {
		b.WriteString(" until " + sayMoment(s.Until, zone))
	}
	if clock || s.Hours != "" || !s.From.IsZero() || !s.Until.IsZero() {
		b.WriteString(" (" + s.Zone + ")")
	}
	if s.Most > 0 {
		fmt.Fprintf(&b, ", %d times", s.Most)
	}
	return b.String()
}

func sayMoment(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	if !reached(wall(t, zone), zone).Equal(t) { // the second of two
		return t.Format(time.RFC3339)
	}
	if t.Second() != 0 || t.Nanosecond() != 0 {
		return t.Format(moment + ":05")
	}
	return t.Format(moment)
}

// sayDays writes an interval of days with the time of its clock.
func (s *Spec) sayDays(zone *time.Location) string {
	at := wall(s.Anchor, zone)
	clock := " at " + strings.TrimSuffix(at.Format("15:04:05"), ":00")
	switch days := int(s.Every / oneDay); {
	case days == 14:
		return "other " + at.Weekday().String() + clock
	case days%7 == 0 && days > 7:
		return fmt.Sprintf("%d weeks on %s%s", days/7, at.Weekday(), clock)
	default:
		return fmt.Sprintf("%d days%s", days, clock)
	}
}

// sayInterval writes an interval in the largest unit that it is whole in.
func sayInterval(d time.Duration) string {
	for _, u := range []struct {
		d          time.Duration
		one, short string
	}{{time.Hour, "hour", "hours"}, {time.Minute, "minute", "min"}, {time.Second, "second", "s"}} {
		switch {
		case d == u.d:
			return u.one
		case d%u.d == 0:
			return strconv.FormatInt(int64(d/u.d), 10) + " " + u.short
		}
	}
	return d.String()
}

// sayCron writes the usual ones in words, and others as they are.
func sayCron(text string) string {
	f, _, err := readCron(text)
	raw := "cron " + strings.Join(strings.Fields(text), " ")
	if err != nil {
		return raw
	}
	at, ok := sayClock(f)
	anyDate, anyMonth := members(f.Dom) == 31, members(f.Month) == 12
	day := sayList(f.Dom, ordinal, and)
	if f.byDay != nil {
		day = f.byDay.String()
	}
	switch dated := f.byDay != nil || members(f.Dow) == 7 && !anyDate; {
	case !ok || day == "" || !dated && !(anyDate && anyMonth):
		return raw
	case !dated:
		day = sayWeekdays(f.Dow)
	case anyMonth:
		day = "month on the " + day
	case f.byDay == nil && members(f.Month) == 1 && members(f.Dom) == 1:
		day = fmt.Sprintf("year on %d %s", bits.TrailingZeros64(f.Dom), sayMonths(f.Month))
	default:
		day = "year on the " + day + " of " + sayMonths(f.Month)
	}
	return "every " + day + " at " + at
}

// members is how many a set has.
func members(set uint64) int { return bits.OnesCount64(set &^ anyDay) }

// sayWeekdays writes days of the week behind "every".
func sayWeekdays(set uint64) string {
	switch set &^ anyDay {
	case 0b1111111:
		return "day"
	case workdays:
		return "weekday"
	}
	return sayList(set, func(i int) string { return time.Weekday(i).String() }, and)
}

func sayMonths(set uint64) string {
	return sayList(set, func(i int) string { return time.Month(i).String() }, and)
}

// sayHourly writes what comes several times an hour, or each hour, on some weekdays or all; empty: it is another.
func sayHourly(text string) string {
	f, _, err := readCron(text)
	if err != nil || f.byDay != nil || f.Second != 1 || members(f.Dom) != 31 || members(f.Month) != 12 {
		return ""
	}
	hours, minutes := f.Hour&^anyDay, f.Minute&^anyDay
	first, last := bits.TrailingZeros64(hours), bits.Len64(hours)-1
	if bits.OnesCount64(hours) != last-first+1 {
		return ""
	}
	all, minute, each := last-first == 23, bits.TrailingZeros64(minutes), bits.OnesCount64(minutes)
	span := func(from, to int) string { return fmt.Sprintf(" from %02d:%02d to %02d:%02d", first, from, last, to) }
	said := ""
	switch {
	case each == 1 && all:
		said = fmt.Sprintf("at minute %d of every hour", minute)
	case each == 1:
		said = "hourly" + span(minute, minute)
	case each > 1 && 60%each == 0 && minutes == steps(60/each):
		said = fmt.Sprintf("every %d minutes", 60/each)
		if each == 60 {
			said = "every minute"
		}
		if !all {
			said += span(0, 60-60/each)
		}
	default:
		return ""
	}
	if days := sayWeekdays(f.Dow); days != "day" || !all && !strings.HasPrefix(said, "every ") {
		said = "every " + days + ", " + said
	}
	return said
}

// steps are the minutes 0, n, 2n … of an hour.
func steps(n int) (set uint64) {
	for i := 0; i < 60; i += n {
		set |= 1 << i
	}
	return set
}

// String is the one kind of day that d has, "last day" or "first Monday"; empty: it has several, or others.
func (d *byDay) String() string {
	var list []string
	byDate, byWeekday := d.dates == 0 && d.weekdays&anyDay != 0, d.dates&anyDay != 0 && d.weekdays == 0
	if d.last && byDate {
		list = append(list, "last day")
	}
	for i, is := range d.work {
		if is && byDate {
			list = append(list, []string{"first", "last"}[i]+" working day")
		}
	}
	for weekday, nth := range d.nth {
		for n, is := range nth {
			if is && byWeekday {
				list = append(list, ordinals[n]+" "+time.Weekday(weekday).String())
			}
		}
	}
	if len(list) != 1 {
		return ""
	}
	return list[0]
}

// sayClock writes the times of the day, where they are few.
func sayClock(f fields) (string, bool) {
	if f.Second != 1 || bits.OnesCount64(f.Minute) != 1 || bits.OnesCount64(f.Hour) > 4 {
		return "", false
	}
	minute := bits.TrailingZeros64(f.Minute)
	return sayList(f.Hour, func(i int) string { return fmt.Sprintf("%02d:%02d", i, minute) }, and), true
}

// sayList writes the members of a set: "a, b and c".
func sayList(set uint64, name func(int) string, last string) string {
	var list []string
	for i := range 63 {
		if set&(1<<i) != 0 {
			list = append(list, name(i))
		}
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + last + list[n-1]
	}
	return strings.Join(list, "")
}

// ordinal is 1st, 2nd, 3rd, 4th …
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
