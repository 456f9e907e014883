package scheduler

import (
	"errors"
	"fmt"
	"time"
)

// A Spec says when a job is due: one of At, Every and Cron, in Zone.
//
// Where clocks change, an Every without Wall and a Cron whose field of hours is * or */n follow elapsed time: each
// real minute that the clock shows as the spec wants it is a slot. Any other Cron, an Every with Wall and a local At are
// times of the wall clock: one that does not exist is the first instant after the gap, one that
// exists twice is its first, and slots that fall on one instant are one.
type Spec struct {
	// At is one local time in Zone, as 2006-01-02T15:04:05, or an instant, with Z or an offset behind.
	At string `json:"at,omitempty"`
	// Every is the time between slots, counted from Anchor, the first, in elapsed time: no drift. Whole
	// seconds.
	Every  time.Duration `json:"every,omitempty"`
	Anchor time.Time     `json:"anchor,omitzero"` // zero: 1970
	// Wall has an Every of whole days keep its time of the clock where clocks change.
	Wall bool `json:"wall,omitempty"`
	// Cron has five fields, or six with seconds first, or is a descriptor such as @daily.
	Cron string `json:"cron,omitempty"`
	// Zone is an IANA name; never empty. Assumed: nobody said that it is the person's.
	Zone    string `json:"zone"`
	Assumed bool   `json:"assumed,omitempty"`
	// From and Until are the first and the last instant that may be a slot; zero: any may.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Hours are those in which slots count, as HH:MM-HH:MM in Zone, the end not among them; 22:00-06:00
	// wraps over midnight. Empty: all.
	Hours string `json:"hours,omitempty"`
	// Jitter delays each slot by less than that, each slot by its own amount.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Most is how many slots run in all; 0: no limit.
	Most int `json:"most,omitempty"`
}

// horizon is how far ahead a slot is looked for: beyond the eight years from one 29 February to the next
// around 2100.
const horizon = 10

// A plan is a spec that was read.
type plan struct {
	next        func(after time.Time) time.Time // strictly after, without hours and bounds; zero: none
	zone        *time.Location
	hours       *hours
	from, until time.Time
}

// Check reports what is wrong with s, in a sentence for the person who wrote it.
func (s *Spec) Check() error {
	p, err := s.read()
	if err != nil {
		return err
	}
	switch {
	case s.At != "" && (s.Every != 0 || s.Hours != "" || !s.From.IsZero() || !s.Until.IsZero() || s.Most != 0):
		return errors.New("a job that is due once takes no interval, hours, start, end or number of runs")
	case s.Most < 0:
		return errors.New("the number of runs is below 0")
	case !s.Until.IsZero() && s.Until.Before(s.From):
		return errors.New("the end is before the start")
	case s.Jitter < 0 || s.Jitter > oneDay:
		return errors.New("the jitter is not between 0 and 24h")
	case s.At != "":
		return nil
	}
	// What has no slot in the ten years after some time in 2025 has none at all, but for an interval.
	after := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if !s.From.IsZero() {
		after = s.From.Add(-1)
	} else if s.Anchor.After(after) {
		after = s.Anchor.Add(-1)
	}
	p.until = time.Time{}
	former := p.slot(after)
	if former.IsZero() {
		return fmt.Errorf("this is never due: no time fits all of %s", s)
	}
	for range 25 {
		next := p.slot(former)
		if next.IsZero() {
			return nil
		}
		if next.Sub(former) < s.Jitter {
			return fmt.Errorf("the jitter (%s) is longer than the time between two runs (%s)", s.Jitter, next.Sub(former))
		}
		former = next
	}
	return nil
}

// Next is the first slot after an instant, strictly; ok is false where none is left, or s is not valid.
func (s *Spec) Next(after time.Time) (slot time.Time, ok bool) {
	if p, err := s.read(); err == nil {
		slot = p.slot(after)
	}
	return slot, !slot.IsZero()
}

// Move has s mean the same times of the clock in another zone, which was told. What is no time of a clock stays.
func (s *Spec) Move(zone string) error {
	err := s.shift(zone, &s.Anchor, &s.From, &s.Until)
	s.Assumed = s.Assumed && err != nil
	return err
}

// shift moves s to another zone, and has some instants of it be at the same time of the clock there.
func (s *Spec) shift(zone string, instants ...*time.Time) error {
	from, err := Zone(s.Zone)
	if err != nil {
		return err
	}
	to, err := Zone(zone)
	if err != nil {
		return err
	}
	for _, t := range instants {
		if !t.IsZero() {
			*t = reached(wall(*t, from), to)
		}
	}
	s.Zone = zone
	return nil
}

// Upcoming are the first n slots after an instant; fewer where fewer are left.
func (s *Spec) Upcoming(after time.Time, n int) (slots []time.Time) {
	p, err := s.read()
	for err == nil && len(slots) < n {
		if after = p.slot(after); after.IsZero() {
			break
		}
		slots = append(slots, after)
	}
	return slots
}

// slot is the first slot after an instant; zero: none is left.
func (p *plan) slot(after time.Time) time.Time {
	if after.Before(p.from) {
		after = p.from.Add(-1)
	}
	if after.Year() > 2200 {
		return time.Time{}
	}
	for end := after.AddDate(horizon, 0, 0); ; {
		slot := p.next(after)
		switch {
		case slot.IsZero() || !p.until.IsZero() && slot.After(p.until) || p.hours != nil && slot.After(end):
			return time.Time{}
		case p.hours == nil || p.hours.have(wall(slot, p.zone)):
			return slot
		}
		after = p.hours.opening(slot, p.zone).Add(-1)
	}
}

// read makes a plan of s.
func (s *Spec) read() (*plan, error) {
	zone, err := Zone(s.Zone)
	if err != nil {
		return nil, err
	}
	p := &plan{zone: zone, from: s.From, until: s.Until}
	for _, t := range []time.Time{s.Anchor, s.From, s.Until} {
		if !t.IsZero() && !sensible(t) {
			return nil, fmt.Errorf("the year %d is not between 1970 and 2200", t.Year())
		}
	}
	if p.hours, err = readHours(s.Hours); err != nil {
		return nil, err
	}
	switch {
	case s.At != "" && s.Every == 0 && s.Cron == "":
		return p, s.once(p)
	case s.Every != 0 && s.At == "" && s.Cron == "":
		return p, s.interval(p)
	case s.Cron != "" && s.At == "" && s.Every == 0:
		return p, s.calendar(p)
	}
	return nil, errors.New("give one of a time, an interval and a cron expression")
}

// sensible: arithmetic with t cannot overflow, and somebody may have meant it.
func sensible(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 2200 }

// once plans At.
func (s *Spec) once(p *plan) error {
	at, err := time.Parse(time.RFC3339, s.At)
	if err != nil {
		if at, err = time.Parse(local, s.At); err != nil {
			return fmt.Errorf("the time %q is not written as 2026-12-05T09:00:00", s.At)
		}
		at = reached(at, p.zone)
	}
	if at = instant(at); !sensible(at) {
		return fmt.Errorf("the year %d is not between 1970 and 2200", at.Year())
	}
	p.next = func(after time.Time) time.Time {
		if after.Before(at) {
			return at
		}
		return time.Time{}
	}
	return nil
}

// interval plans Every.
func (s *Spec) interval(p *plan) error {
	switch {
	case s.Every < time.Second || s.Every%time.Second != 0:
		return fmt.Errorf("the interval %s is not a number of whole seconds, from 1", s.Every)
	case s.Wall && s.Every%oneDay != 0:
		return fmt.Errorf("the interval %s is not a number of whole days", s.Every)
	case s.Every > 3660*oneDay:
		return fmt.Errorf("the interval %s is longer than ten years", s.Every)
	}
	anchor := instant(s.Anchor)
	if s.Anchor.IsZero() {
		anchor = time.Unix(0, 0).UTC()
	}
	first := wall(anchor, p.zone)
	p.next = func(after time.Time) time.Time {
		switch {
		case after.Before(anchor):
			return anchor
		case s.Wall: // the clock has shown everything up to shown, and reaches what is later
			return reached(first.Add((shown(after, p.zone).Sub(first)/s.Every+1)*s.Every), p.zone)
		}
		return anchor.Add((after.Sub(anchor)/s.Every + 1) * s.Every)
	}
	return nil
}

// calendar plans Cron.
func (s *Spec) calendar(p *plan) error {
	fields, elapsed, err := readCron(s.Cron)
	if err != nil {
		return err
	}
	p.next = func(after time.Time) time.Time {
		if elapsed {
			return nextElapsed(fields, after, p.zone)
		}
		// The clock has shown everything up to shown, and reaches what is later at one instant each.
		if shown := fields.Next(shown(after, p.zone)); !shown.IsZero() {
			return reached(shown, p.zone)
		}
		return time.Time{}
	}
	return nil
}
