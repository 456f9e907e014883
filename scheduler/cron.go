package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// fields are those of a cron expression on a calendar without zones, that of UTC. Nothing is asked of the library
// but what is next there. It knows no days that are counted in their month: where one is named, its days are all, and
// those meant are in byDay.
type fields struct {
	*cron.SpecSchedule
	byDay *byDay
}

// byDay are days of a month: by date, as L for the last one, 1W and LW for the first and the last from Monday to Friday, by weekday, or as the nth such weekday, 5 for the last
// one. With both dates and weekdays a day is of one or the other, as cron has it.
type byDay struct {
	dates    uint64 // with anyDay where each may be
	weekdays uint64
	last     bool
	work     [2]bool // the first and the last working day
	nth      [7][6]bool
}

// anyDay in a set says that each may be, as the library writes it.
const anyDay = 1 << 63

func (d *byDay) has(t time.Time) bool {
	ahead := t.AddDate(0, 0, 7).Month() != t.Month()
	left := t.AddDate(0, 1, -t.Day()).Day() - t.Day()
	date := d.dates&(1<<t.Day()) != 0 || d.last && left == 0 ||
		d.work[0] && worksAtEdge(t.Weekday(), t.Day()-1, time.Monday) || d.work[1] && worksAtEdge(t.Weekday(), left, time.Friday)
	nth := &d.nth[t.Weekday()]
	weekday := d.weekdays&(1<<t.Weekday()) != 0 || nth[(t.Day()-1)/7] || ahead && nth[5]
	if d.dates&anyDay != 0 || d.weekdays&anyDay != 0 {
		return date && weekday
	}
	return date || weekday
}

// worksAtEdge: a weekday is the working day that is nearest to an end of its month, which is so many days away. Near is
// the one beside a weekend.
func worksAtEdge(day time.Weekday, away int, near time.Weekday) bool {
	return away == 0 && workdays&(1<<day) != 0 || away <= 2 && day == near
}

// Next is the first time that fits after t, strictly; zero: none in ten years. The library gives up
// after five, which is too early for a 29 February around 2100.
func (f fields) Next(t time.Time) time.Time {
	for end := t.AddDate(horizon, 0, 0); ; {
		next := f.SpecSchedule.Next(t)
		if next.IsZero() {
			next = f.SpecSchedule.Next(t.AddDate(5, 0, 0))
		}
		switch {
		case next.IsZero() || f.byDay == nil || f.byDay.has(next):
			return next
		case next.After(end):
			return time.Time{}
		}
		t = next.Truncate(24 * time.Hour).Add(24*time.Hour - 1)
	}
}

// A field of a cron expression: the least and the most that it may be, and their names, from the least.
type cronField struct {
	what        string
	least, most int
	names       []string
	example     string
}

var (
	cronWeekdays = strings.Fields("sun mon tue wed thu fri sat")
	cronMonths   = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")
	cronFields   = []cronField{
		{"a second", 0, 59, nil, "0, * or */15"},
		{"a minute", 0, 59, nil, "0, * or */15"},
		{"an hour", 0, 23, nil, "9, 9-17 or */2"},
		{"a day of the month", 1, 31, nil, "1, 1,15 or L for the last"},
		{"a month", 1, 12, cronMonths, "12, dec or 1-6"},
		{"a day of the week", 0, 7, cronWeekdays, "1 for Monday, 1-5, 1#2 for the second Monday or 5L for the last Friday"},
	}
)

// number is one value of a field.
func (f *cronField) number(text string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.least + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.least && n <= f.most && isDigit(text)
}

// list reads a field that is a list, with anyDay where each may be; counted takes those parts that are no set of numbers.
func (f *cronField) list(text string, counted func(part string) bool) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		every, err := strconv.Atoi(step)
		if stepped && (err != nil || every < 1 || !isDigit(step)) {
			return 0, f.wrong(part)
		}
		first, ok := f.number(from)
		last := first
		switch {
		case !stepped && counted != nil && counted(part):
			continue
		case span == "*" || span == "?":
			first, last, ok = f.least, f.most, true
			if !stepped {
				set |= anyDay
			}
		case ranged && ok:
			if last, ok = f.number(to); ok && last < first {
				return 0, fmt.Errorf("in “%s” the first is above the last", part)
			}
		case stepped:
			last = f.most
		}
		if !ok {
			return 0, f.wrong(part)
		}
		for n := first; n <= last; n += max(every, 1) {
			set |= 1 << n
		}
	}
	if f.most == 7 && set&(1<<7) != 0 { // sunday
		set = set&^(1<<7) | 1
	}
	return set, nil
}

func (f *cronField) wrong(part string) error {
	return fmt.Errorf("“%s” is not %s; write %s", part, f.what, f.example)
}

// date takes L, 1W and LW.
func (d *byDay) date(part string) bool {
	which := map[string]*bool{"L": &d.last, "1W": &d.work[0], "LW": &d.work[1]}[strings.ToUpper(part)]
	if which != nil {
		*which = true
	}
	return which != nil
}

// weekday takes 1#2 and 5L.
func (d *byDay) weekday(part string) bool {
	f := cronFields[5]
	if day, ok := strings.CutSuffix(strings.ToUpper(part), "L"); ok {
		n, isDay := f.number(day)
		if isDay {
			d.nth[n%7][5] = true
		}
		return isDay
	}
	day, count, ok := strings.Cut(part, "#")
	n, isDay := f.number(day)
	which, err := strconv.Atoi(count)
	if ok = ok && isDay && err == nil && which >= 1 && which <= 5; ok {
		d.nth[n%7][which-1] = true
	}
	return ok
}

var descriptors = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// readCron reads a cron expression; elapsed: its slots follow elapsed time.
func readCron(text string) (f fields, elapsed bool, err error) {
	bad := func(why any) (fields, bool, error) {
		return fields{}, false, fmt.Errorf("the cron expression %q is not right: %v", text, why)
	}
	text = strings.TrimSpace(text)
	plain := descriptors[strings.ToLower(text)]
	parts := strings.Fields(cmp.Or(plain, text))
	switch {
	case len(text) > 200:
		return bad("it is too long")
	case len(parts) == 0:
		return bad("it is empty")
	case strings.Contains(text, "="):
		return bad("the time zone is not part of it")
	case strings.HasPrefix(text, "@every"):
		return bad("write an interval as “every 15 minutes”")
	case plain == "" && strings.HasPrefix(text, "@"):
		return bad("write @hourly, @daily, @weekly, @monthly or @yearly, or five fields such as 0 8 * * 1-5")
	case len(parts) == 5:
		parts = append([]string{"0"}, parts...)
	case len(parts) != 6:
		return bad("it has five fields (minute, hour, day, month, day of the week), such as 0 8 * * 1-5")
	}
	f.SpecSchedule = &cron.SpecSchedule{Location: time.UTC}
	days := &byDay{}
	counted := map[int]func(string) bool{3: days.date, 5: days.weekday}
	for i, set := range []*uint64{&f.Second, &f.Minute, &f.Hour, &f.Dom, &f.Month, &f.Dow} {
		if *set, err = cronFields[i].list(parts[i], counted[i]); err != nil {
			return bad(err)
		}
	}
	if days.last || days.work != ([2]bool{}) || days.nth != ([7][6]bool{}) {
		days.dates, days.weekdays = f.Dom, f.Dow
		f.byDay, f.Dom, f.Dow = days, anyDay|0xfffffffe, anyDay|0b1111111
	}
	hour := parts[2]
	return f, hour == "*" || hour == "?" || strings.HasPrefix(hour, "*/") && !strings.Contains(hour, ","), nil
}
