package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A resolver finds out when that is which was said.
type resolver struct {
	said *said
	now  time.Time
	zone *time.Location
	home *time.Location // in which a day is named; nil: zone
}

const local = "2006-01-02T15:04:05"

// A day without a time is at nine.
const plainHour = 9

// specs are what was said may mean, the likeliest first.
func (r *resolver) specs() (specs []Spec, err error) {
	s := r.said
	for _, c := range s.clocks {
		if !s.part.fits(c) {
			return nil, fmt.Errorf("%d is not an hour of that part of the day; write %02d:%02d or %02d:%02d alone", c.hour, c.hour, c.minute, (c.hour+12)%24, c.minute)
		}
	}
	switch {
	case s.wait != 0:
		at := r.now.Add(s.wait + time.Second - 1).Truncate(time.Second)
		if s.wait >= 10*time.Minute && !s.seconds { // to the minute, as it was said
			at = r.now.Add(s.wait + 30*time.Second).Truncate(time.Minute)
		}
		return []Spec{r.at(at)}, nil
	case !s.exact.IsZero():
		return []Spec{r.at(s.exact)}, nil
	case s.every != 0 && s.ran != 0:
		specs = r.onDays()
	case s.every != 0:
		specs, err = r.interval()
	case s.cron != "":
		specs = []Spec{{Cron: s.cron}}
	case s.again != nil:
		specs, err = r.calendar()
	default:
		times, err := r.once(s)
		for _, t := range times {
			specs = append(specs, Spec{At: t.Format(local), Zone: s.zone})
		}
		if err != nil || !s.often {
			return specs, err
		}
		each := *s // "the first monday of the month"
		each.day, each.again = nil, &again{month: true, counted: s.day.counted}
		if s.day.counted == "" { // "il lunedì"
			each.again = &again{weekdays: 1 << s.day.weekday}
			specs = specs[len(specs)-1:]
		}
		monthly, err := (&resolver{said: &each, now: r.now, zone: r.zone}).specs()
		return append(specs, monthly...), err
	}
	for i := range specs {
		if err == nil {
			err = r.bound(&specs[i])
		}
	}
	return specs, err
}

// at is an instant.
func (r *resolver) at(t time.Time) Spec {
	return Spec{At: t.UTC().Format(local) + "Z", Zone: r.said.zone}
}

// bound sets what is common to all that comes again.
func (r *resolver) bound(spec *Spec) error {
	s := r.said
	spec.Zone, spec.Most = s.zone, s.most
	if s.hours != nil {
		if spec.Hours = s.hours[0].String() + "-" + s.hours[1].String(); s.hours[1].midnight {
			spec.Hours = s.hours[0].String() + "-24:00"
		}
	}
	var err error
	if s.from != nil {
		for i := range s.from.clocks {
			s.from.clocks[i].plain = false
		}
		if spec.From, err = r.moment(s.from, 0); err != nil {
			return err
		}
		if spec.Every != 0 && s.placed() {
			later := resolver{said: s, now: spec.From.Add(-1), zone: r.zone}
			if spec.From, err = later.first(s); err != nil { // so that String says it
				return err
			}
		}
		if spec.Every != 0 {
			spec.Anchor = spec.From
		}
	}
	if s.span != 0 {
		spec.Until = r.now.Truncate(time.Second)
		if spec.From.After(spec.Until) {
			spec.Until = spec.From
		}
		spec.Until = spec.Until.Add(s.span)
	}
	if s.until != nil {
		spec.Until, err = r.moment(s.until, oneDay-time.Second)
	}
	return err
}

// moment is the instant of a bound; a day without a time is at that time of it.
func (r *resolver) moment(m *said, bare time.Duration) (time.Time, error) {
	if !m.exact.IsZero() {
		return m.exact, nil
	}
	if len(m.clocks) == 0 && m.part == nil {
		dates, err := r.dates(m.day)
		if err != nil {
			return time.Time{}, err
		}
		date := dates[0]
		if m.day != nil && m.day.named == "the" { // said on a monday, "monday" is the next one
			date = dates[len(dates)-1]
		}
		return reached(date.Add(bare), r.zone), nil
	}
	return r.first(m)
}

// first is the likeliest instant that a day and a time of it may mean.
func (r *resolver) first(s *said) (time.Time, error) {
	times, err := r.once(s)
	if err != nil {
		return time.Time{}, err
	}
	return reached(times[0], r.zone), nil
}

// interval is every so often, from the time that was said, from when its hours begin, or else from
// now. Nothing is asked about its first time, which is shown.
func (r *resolver) interval() ([]Spec, error) {
	s := r.said
	least := time.Minute
	if s.every%least != 0 {
		least = time.Second
	}
	spec := Spec{Every: s.every, Wall: s.calendar, Anchor: r.now.Add(s.every + least - 1).Truncate(least)}
	if s.hours != nil {
		spec.Anchor = reached(r.today().Add(s.hours[0].day()), r.zone)
	}
	for i := range s.clocks {
		s.clocks[i] = s.part.apply(s.clocks[i])
		s.clocks[i].plain = false
	}
	var err error
	if s.placed() {
		spec.Anchor, err = r.first(s)
	}
	return []Spec{spec}, err
}

// onDays is an interval on some days of the week.
func (r *resolver) onDays() []Spec {
	s := r.said
	minutes, hours := "0", "*"
	switch {
	case s.every < time.Hour:
		minutes = fmt.Sprintf("*/%d", int(s.every/time.Minute))
	case s.hours != nil && s.hours[0].hour < s.hours[1].hour:
		hours = fmt.Sprintf("%d-%d", s.hours[0].hour, s.hours[1].hour)
		s.hours = nil
	}
	return []Spec{{Cron: fmt.Sprintf("%s %s * * %s", minutes, hours, cronSet(s.ran))}}
}

// today is the start of the day where the person is, as the clock shows it.
func (r *resolver) today() time.Time {
	zone := r.zone
	if r.home != nil && r.said.day != nil {
		zone = r.home
	}
	return wall(r.now, zone).Truncate(oneDay)
}

// clock is the first time of the day that was said, or one that goes without saying.
func (s *said) clock() clock {
	switch {
	case len(s.clocks) > 0:
		return s.part.apply(s.clocks[0])
	case s.part != nil:
		return clock{hour: s.part.hour}
	}
	return clock{hour: plainHour}
}

// low: it may as well be after noon.
func (c clock) low() bool { return c.plain && c.hour <= 6 }

// day is how long after midnight it is.
func (c clock) day() time.Duration {
	return time.Duration(c.hour)*time.Hour + time.Duration(c.minute)*time.Minute + time.Duration(c.second)*time.Second
}

// fits: c may be meant as one of a part of the day.
func (p *part) fits(c clock) bool {
	switch {
	case p == nil || !c.plain:
		return true
	case p == parts["morning"]:
		return c.hour != 12
	case p == parts["afternoon"]:
		return c.hour == 12 || c.hour <= 7
	case p == parts["evening"]:
		return c.hour >= 4 && c.hour != 12
	}
	return c.hour != 5
}

// apply makes c one of a part of the day. The small hours of a night are in the next day, as is the
// midnight of one: its hour is 24 and more.
func (p *part) apply(c clock) clock {
	if p == nil || !c.plain {
		return c
	}
	late := p == parts["night"] && (c.hour < 5 || c.hour == 12)
	if c.plain, c.hour = false, inHalf(c.hour, p.pm); late {
		c.hour += 12
	}
	return c
}

// once are the times that one day and one time of the day may mean, as a clock shows them.
func (r *resolver) once(s *said) ([]time.Time, error) {
	if s.day == nil {
		return r.next(s.clock()), nil
	}
	dates, err := r.dates(s.day)
	if err != nil {
		return nil, err
	}
	c, p := s.clock(), s.part
	switch {
	case s.day.tonight:
		if c = (clock{hour: 20}); len(s.clocks) > 0 {
			c = parts["night"].apply(s.clocks[0])
		} else if now := wall(r.now, r.zone); now.Hour() >= c.hour && !s.bound { // which hour of what is left, or the next night
			return []time.Time{now.Truncate(time.Hour).Add(time.Hour), now.Truncate(time.Hour).Add(2 * time.Hour), dates[0].Add(oneDay + c.day())}, nil
		}
	case len(s.clocks) > 0 || p != nil:
	case s.day.today:
		return nil, errors.New("say at which time today")
	case s.day.months != 0 && s.day.date == 0 || s.day.days != 0 && s.day.named == "":
		shown := wall(r.now, r.zone)
		c = clock{hour: shown.Hour(), minute: shown.Minute(), second: shown.Second()}
		if s.day.tomorrow {
			c = clock{hour: plainHour}
		}
	}
	if c.midnight && s.day.today {
		c.hour = 24
	}
	var times []time.Time
	for _, d := range dates {
		if c.low() {
			times = append(times, d.Add(c.day()+12*time.Hour))
		}
		times = append(times, d.Add(c.day()))
	}
	over := times[0]
	if s.bound && !reached(times[len(times)-1], r.zone).After(r.now) {
		return times, nil
	}
	times = slices.DeleteFunc(times, func(t time.Time) bool { return !reached(t, r.zone).After(r.now) })
	if len(times) == 0 {
		why := fmt.Sprintf("%s is over: it is %s now (%s).", over.Format(moment), sayMoment(r.now.Truncate(time.Minute), r.zone), r.said.zone)
		if s.day.today && c.plain {
			why += fmt.Sprintf(" Say “today at %02d:%02d” or “tomorrow at %s”.", (c.hour+12)%24, c.minute, c)
		}
		return nil, &PastError{why}
	}
	return times, nil
}

// next are the next times at which the clock shows c. An hour of the morning that is next is meant as it was
// said; else it may be that in the evening.
func (r *resolver) next(c clock) []time.Time {
	ahead := func(c clock) time.Time {
		t := r.today().Add(c.day())
		if !reached(t, r.zone).After(r.now) {
			t = t.Add(oneDay)
		}
		return t
	}
	times := []time.Time{ahead(c)}
	if other := (clock{hour: (c.hour + 12) % 24, minute: c.minute, second: c.second}); c.plain {
		if t := ahead(other); t.Before(times[0]) {
			times = []time.Time{t, times[0]}
		} else if c.low() {
			times = append(times, t)
		}
	}
	return times
}
