package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// dates are the days that one may mean, each at its start.
func (r *resolver) dates(d *day) ([]time.Time, error) {
	today := r.today()
	if d == nil {
		return []time.Time{today}, nil
	}
	toWeekday := (int(d.weekday) - int(today.Weekday()) + 7) % 7
	in := func(days int) time.Time { return today.AddDate(0, 0, days) }
	switch {
	case d.counted != "":
		return r.counted(d)
	case d.date != 0:
		return r.date(d)
	case d.named == "week":
		return []time.Time{in(7 - fromMonday(today.Weekday()) + d.days)}, nil
	case d.named == "the" && toWeekday == 0:
		return []time.Time{today, in(7)}, nil
	case d.named == "next" && toWeekday == 0:
		return []time.Time{in(7)}, nil
	case d.named == "next" && fromMonday(today.Weekday()) < fromMonday(d.weekday): // this week's or the next one's
		return []time.Time{in(toWeekday), in(toWeekday + 7)}, nil
	case d.named != "":
		return []time.Time{in(toWeekday)}, nil
	}
	return []time.Time{today.AddDate(0, d.months, d.days)}, nil
}

// date is a date of a month, of the year that was said or the next that has it.
func (r *resolver) date(d *day) ([]time.Time, error) {
	today := r.today()
	for n := range 12 * 9 {
		month, year := time.Month(d.month), today.Year()+n/12
		switch {
		case d.year != 0:
			year = d.year
		case d.nextYear:
			year = today.Year() + 1 + n/12
		case d.month == 0:
			first := time.Date(today.Year(), today.Month()+time.Month(n+d.months), 1, 0, 0, 0, 0, time.UTC)
			month, year = first.Month(), first.Year()
		}
		day := time.Date(year, month, d.date, 0, 0, 0, 0, time.UTC)
		if day.Day() != d.date || day.Before(today) && d.year == 0 {
			continue
		}
		if d.named != "" && day.Weekday() != d.weekday {
			return nil, fmt.Errorf("%s is a %s", day.Format("2 January 2006"), day.Weekday())
		}
		return []time.Time{day}, nil
	}
	return nil, fmt.Errorf("there is no day %d in that month", d.date)
}

// counted is a day that is counted in its month: in the next month that has it where none was said.
func (r *resolver) counted(d *day) ([]time.Time, error) {
	today := r.today()
	dates, weekdays := cronDays(d.counted)
	f, _, err := readCron(fmt.Sprintf("0 0 %s * %s", dates, weekdays))
	if err != nil {
		return nil, err
	}
	first := time.Date(today.Year(), today.Month()+time.Month(d.months), 1, 0, 0, 0, 0, time.UTC)
	for range 100 {
		day := f.Next(first.Add(-1))
		if !day.Before(today) && (d.month == 0 || int(day.Month()) == d.month) {
			return []time.Time{day}, nil
		}
		first = time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, time.UTC)
	}
	return nil, errors.New("there is no such day")
}

// cronDays are the fields of a day that is counted in its month.
func cronDays(counted string) (dates, weekdays string) {
	if counted == "L" || strings.HasSuffix(counted, "W") {
		return counted, "*"
	}
	return "*", counted
}

// calendar is a cron expression.
func (r *resolver) calendar() ([]Spec, error) {
	s, a := r.said, *r.said.again
	today := r.today()
	if s.from != nil && s.from.day != nil { // "every week from friday at 18:00": the day and its time are those
		from, err := r.moment(s.from, 0)
		if err != nil {
			return nil, err
		}
		today = wall(from, r.zone)
		if len(s.clocks) == 0 && s.part == nil {
			s.clocks, s.part = slices.Clone(s.from.clocks), s.from.part
		}
	}
	switch anyDate := a.dates == 0 && a.counted == ""; {
	case a.week && a.weekdays == 0:
		a.weekdays = 1 << today.Weekday()
	case a.quarter && anyDate:
		a.dates = 1 << 1
	case a.month && anyDate:
		a.dates = 1 << today.Day()
	case a.year && anyDate:
		a.dates, a.months = 1<<today.Day(), 1<<today.Month()
	}
	late := slices.DeleteFunc(slices.Clone(s.clocks), func(c clock) bool { return s.part.apply(c).hour < 24 }) // the small hours of a night are in the next day
	next := len(late) > 0 && len(late) == len(s.clocks)
	if len(late) > 0 && (a.dates != 0 || a.counted != "" || a.weekdays != 0 && !next) {
		return nil, fmt.Errorf("say which day %s is in, without “night”, as in “every saturday at 01:00”", late[0])
	}
	if next && a.weekdays != 0 {
		a.weekdays = a.weekdays<<1&0b1111111 | a.weekdays>>6
	}
	dates, weekdays := cronSet(a.dates), cronSet(a.weekdays)
	if a.counted != "" {
		dates, weekdays = cronDays(a.counted)
	}
	if a.step > 0 {
		f, _, err := readCron(fmt.Sprintf("0 0 %s * %s", dates, weekdays))
		if err != nil {
			return nil, err
		}
		first := int(f.Next(today.Add(-1)).Month()) // from the next such day on
		switch {
		case a.quarter && strings.Contains(a.counted, "L"):
			first = 3
		case a.quarter:
			first = 1
		}
		for n := first; n < first+12; n += a.step {
			a.months |= 1 << ((n-1)%12 + 1)
		}
	}
	var specs []Spec
	for _, pm := range []bool{true, false} {
		var hours uint64
		var low bool
		first := s.clock()
		for _, c := range append(slices.Clone(s.clocks), first)[:max(len(s.clocks), 1)] {
			c = s.part.apply(c)
			if c.minute != first.minute || c.second != first.second {
				return nil, errors.New("times with different minutes are two jobs: make one of each")
			}
			if c.low() {
				if low = true; pm {
					c.hour += 12
				}
			}
			hours |= 1 << (c.hour % 24)
		}
		if pm && !low {
			continue
		}
		cron := fmt.Sprintf("%d %s %s %s %s", first.minute, cronSet(hours), dates, cronSet(a.months), weekdays)
		if first.second != 0 {
			cron = fmt.Sprintf("%d %s", first.second, cron)
		}
		specs = append(specs, Spec{Cron: cron})
	}
	return specs, nil
}

// cronSet writes a field; the empty set is any.
func cronSet(set uint64) string {
	switch set {
	case 0:
		return "*"
	case workdays:
		return "1-5"
	}
	return strings.ReplaceAll(sayList(set, func(i int) string { return fmt.Sprint(i) }, ","), " ", "")
}
