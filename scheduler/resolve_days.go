package scheduler

import (
	"fmt"
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
	case d.date != 0:
		return r.date(d)
	case d.named == "week":
		return []time.Time{in(7 - (int(today.Weekday())+6)%7 + d.days)}, nil
	case d.named == "the" && toWeekday == 0:
		return []time.Time{today, in(7)}, nil
	case d.named == "next" && toWeekday == 0:
		return []time.Time{in(7)}, nil
	case d.named == "next" && (int(today.Weekday())+6)%7 < (int(d.weekday)+6)%7: // this week's or the next one's
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
		case d.month == 0:
			first := time.Date(today.Year(), today.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
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
