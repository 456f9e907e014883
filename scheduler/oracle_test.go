package scheduler

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An oracle finds slots by looking at a clock, at each real step of time.
type oracle struct {
	spec  Spec
	field [6]uint64 // second to weekday, by the oracle's own reading
	days  bool      // one of date and weekday is enough
	at    time.Time // what the clock is to show
	from  int       // minutes of the day, of the hours
	until int
	// minutes are those of an hour of the clock in which there may be slots, but for gaps.
	minutes uint64
	real    bool // each real step that fits; else what the clock shows for the first time
	slots   []time.Time
}

func newOracle(t *testing.T, s Spec) *oracle {
	t.Helper()
	o := &oracle{spec: s, real: true, minutes: 1<<60 - 1}
	if s.At != "" {
		o.at, _ = time.Parse("2006-01-02T15:04:05", s.At)
		o.minutes = 1 << o.at.Minute()
	}
	if s.Hours != "" {
		minutes := func(from int) int { return 60*atoi(t, s.Hours[from:from+2]) + atoi(t, s.Hours[from+3:from+5]) }
		o.from, o.until = minutes(0), minutes(6)
	}
	if s.Cron == "" {
		return o
	}
	words := strings.Fields(s.Cron)
	if len(words) == 5 {
		words = append([]string{"0"}, words...)
	}
	for i, word := range words {
		for item := range strings.SplitSeq(word, ",") {
			from, to, step := 0, 60, 1
			if i == 3 {
				from = 1 // dates count from 1, also where a step does
			}
			if a, n, ok := strings.Cut(item, "/"); ok {
				item, step = a, atoi(t, n)
			}
			if a, b, ok := strings.Cut(item, "-"); ok {
				from, to = atoi(t, a), atoi(t, b)
			} else if item != "*" {
				from, to = atoi(t, item), atoi(t, item)
			}
			for n := from; n <= to; n += step {
				o.field[i] |= 1 << n
			}
		}
	}
	o.minutes = o.field[1]
	o.days = words[3] != "*" && words[5] != "*"
	o.real = words[2] == "*" || strings.HasPrefix(words[2], "*/")
	return o
}

func atoi(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fits: what a clock shows is what the expression says.
func (o *oracle) fits(w time.Time) bool {
	unix := w.Unix() // the calendar of UTC has no leap seconds
	if (o.field[0]>>(unix%60))&(o.field[1]>>(unix/60%60))&(o.field[2]>>(unix/3600%24))&1 == 0 {
		return false
	}
	_, m, d := w.Date()
	date, weekday := o.field[3]>>d&1 == 1, o.field[5]>>w.Weekday()&1 == 1
	if o.field[4]>>m&1 == 0 {
		return false
	}
	if o.days {
		return date || weekday
	}
	return date && weekday
}

// look is called at each real step with what the clock shows, and all that it shows for the first
// time: more than that after a gap, nothing while it repeats itself.
func (o *oracle) look(t time.Time, shown time.Time, fresh []time.Time) {
	slot := false
	switch {
	case o.spec.At != "":
		for _, w := range fresh {
			slot = slot || w.Equal(o.at)
		}
	case o.spec.Every != 0:
		slot = !t.Before(o.spec.Anchor) && t.Unix()%int64(o.spec.Every/time.Second) == o.spec.Anchor.Unix()%int64(o.spec.Every/time.Second)
	default:
		if o.real {
			fresh = []time.Time{shown}
		}
		for _, w := range fresh {
			slot = slot || o.fits(w)
		}
	}
	if slot && o.spec.Hours != "" {
		now := 60*shown.Hour() + shown.Minute()
		if o.from < o.until {
			slot = o.from <= now && now < o.until
		} else {
			slot = o.from <= now || now < o.until
		}
	}
	if slot {
		o.slots = append(o.slots, t)
	}
}

// watch goes through a time step by step, and calls look.
func watch(zone *time.Location, from, to time.Time, step time.Duration, look func(t, shown time.Time, fresh []time.Time)) {
	var latest time.Time
	for t := from.Add(-50 * time.Hour); t.Before(to); t = t.Add(step) {
		y, m, d := t.In(zone).Date()
		hh, mm, ss := t.In(zone).Clock()
		shown := time.Date(y, m, d, hh, mm, ss, 0, time.UTC)
		if latest.IsZero() {
			latest = shown
		}
		var fresh []time.Time
		for latest.Before(shown) {
			latest = latest.Add(step)
			fresh = append(fresh, latest)
		}
		if !t.Before(from) {
			look(t, shown, fresh)
		}
	}
}

// changes are the instants at which a clock is changed, seen from outside.
func changes(zone *time.Location, from, to time.Time) (all []time.Time) {
	_, before := from.In(zone).Zone()
	for t := from; t.Before(to); t = t.Add(30 * time.Minute) {
		if _, now := t.In(zone).Zone(); now != before {
			all, before = append(all, t), now
		}
	}
	return all
}

// Every kind of spec over a year, in zones of both hemispheres, against looking at the clock each minute:
// half an hour's change, a change at midnight, a day that never was, rules that were changed, none.
func TestSlotsOfAYear(t *testing.T) {
	t.Parallel()
	for _, place := range []struct {
		zone string
		year int
	}{
		{"Europe/Rome", 2026},
		{"Europe/London", 2040}, // by a rule, in a leap year
		{"America/New_York", 2026},
		{"America/Santiago", 2026},    // south, put forward at midnight
		{"Australia/Lord_Howe", 2026}, // by half an hour
		{"Asia/Kolkata", 2026},        // never, and half an hour off
		{"Africa/Casablanca", 2026},   // back for a month of each year
		{"Asia/Beirut", 2026},         // at midnight
		{"America/Sao_Paulo", 2018},   // the last year of it
		{"Europe/Istanbul", 2016},     // forward, and never back again
		{"Pacific/Apia", 2011},        // 30 December never was
		{"Asia/Pyongyang", 2018},      // half an hour, once
	} {
		t.Run(place.zone, func(t *testing.T) {
			t.Parallel()
			zone, err := Zone(place.zone)
			if err != nil {
				t.Fatal(err)
			}
			from := time.Date(place.year, 1, 1, 0, 0, 0, 0, time.UTC)
			to := from.AddDate(1, 0, 3)
			compare(t, zone, from, to, time.Minute, specsOfAYear(changes(zone, from, to), zone))
		})
	}
}

// specsOfAYear are every kind; the times that are due once are around the changes.
func specsOfAYear(changes []time.Time, zone *time.Location) (specs []Spec) {
	for _, cron := range []string{
		"*/30 * * * *", "7 */2 * * *", "30 2 * * *", "0 0 * * *", "30 23 * * *", "15,45 1-3 * * *", "0 9 * * 1-5", "30 2 1,15 * *",
		"0 3 13 * 5", "30 1 * 3,10,11 0", "0 0-23 * * *", "15 */6 */2 * *", "59 23 31 12 *",
	} {
		specs = append(specs, Spec{Cron: cron})
	}
	anchor := time.Date(2010, 1, 1, 0, 17, 0, 0, time.UTC)
	specs = append(
		specs,
		Spec{Cron: "*/20 * * * *", Hours: "22:30-02:30"},
		Spec{Cron: "0 1,2,3,12 * * *", Hours: "02:00-12:00"},
		Spec{Every: 45 * time.Minute, Anchor: anchor},
		Spec{Every: 24 * time.Hour, Anchor: anchor},
		Spec{Every: 14 * 24 * time.Hour, Anchor: anchor},
		Spec{Every: 25 * time.Minute, Anchor: anchor, Hours: "23:00-02:15"},
		Spec{Every: 7 * time.Minute, Anchor: anchor, Hours: "02:00-03:00"},
	)
	for _, c := range changes {
		for around := -time.Hour; around <= time.Hour; around += 30 * time.Minute {
			for _, shown := range []time.Time{c.Add(-1).In(zone), c.In(zone)} {
				y, m, d := shown.Date()
				hh, mm, _ := shown.Clock()
				w := time.Date(y, m, d, hh, mm, 0, 0, time.UTC).Add(around).Truncate(15 * time.Minute)
				specs = append(specs, Spec{At: w.Format("2006-01-02T15:04:05")})
			}
		}
	}
	for i := range specs {
		specs[i].Zone = zone.String()
	}
	return specs
}

// compare has the oracle look, and compares slot by slot, and from any instant.
func compare(t *testing.T, zone *time.Location, from, to time.Time, step time.Duration, specs []Spec) {
	var oracles []*oracle
	for _, s := range specs {
		if err := s.Check(); err != nil {
			t.Fatalf("%s: %v", &s, err)
		}
		oracles = append(oracles, newOracle(t, s))
	}
	watch(zone, from, to, step, func(now, shown time.Time, fresh []time.Time) {
		minute := shown.Unix() / 60 % 60
		for _, o := range oracles {
			if len(fresh) > 1 || o.minutes>>minute&1 == 1 { // most do not care for most minutes
				o.look(now, shown, fresh)
			}
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	around := changes(zone, from, to)
	for _, o := range oracles {
		next := func(after time.Time) string {
			slot, ok := o.spec.Next(after)
			if !ok || !slot.Before(to) {
				return "none"
			}
			return slot.In(zone).Format(time.RFC3339)
		}
		want := func(after time.Time) string {
			i, _ := slices.BinarySearchFunc(o.slots, after, func(slot, after time.Time) int {
				if slot.After(after) {
					return 1
				}
				return -1
			})
			if i == len(o.slots) {
				return "none"
			}
			return o.slots[i].In(zone).Format(time.RFC3339)
		}
		afters := []time.Time{from.Add(-1)}
		for i := 0; i < len(o.slots); i += 1 + len(o.slots)/1000 {
			afters = append(afters, o.slots[i])
		}
		for range 50 {
			afters = append(afters, from.Add(time.Duration(random.Int64N(int64(to.Sub(from))))))
		}
		for _, c := range around {
			for range 30 {
				afters = append(afters, c.Add(time.Duration(random.Int64N(int64(8*time.Hour)))-4*time.Hour).Truncate(step))
			}
			afters = append(afters, c.Add(-1), c, c.Add(1))
		}
		failed := 0
		for _, after := range afters {
			if after.Before(from.Add(-1)) {
				continue
			}
			if got, want := next(after), want(after); got != want {
				t.Errorf("%s%s%s after %s: %s, want %s", o.spec.At, o.spec.Cron, &o.spec, after.In(zone).Format(time.RFC3339Nano), got, want)
				if failed++; failed > 5 {
					return
				}
			}
		}
	}
}

// Seconds follow the same rules, second by second around a change.
func TestSlotsOfSeconds(t *testing.T) {
	t.Parallel()
	for name, day := range map[string]string{
		"Europe/Rome in spring": "2026-03-28T23:00:00Z", "Europe/Rome in autumn": "2026-10-24T23:00:00Z",
		"Australia/Lord_Howe in spring": "2026-10-03T14:00:00Z", "Australia/Lord_Howe in autumn": "2026-04-04T13:00:00Z",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(name, " ")
			zone, _ := Zone(name)
			from := at(t, day)
			var specs []Spec
			for _, cron := range []string{"*/20 * * * * *", "5 30 1,2 * * *", "*/30 59 1-3 * * *", "59 */15 */1 * * *"} {
				specs = append(specs, Spec{Cron: cron, Zone: name})
			}
			specs = append(specs, Spec{Every: 90 * time.Second, Anchor: from, Zone: name, Hours: "01:45-02:10"})
			compare(t, zone, from, from.Add(5*time.Hour), time.Second, specs)
		})
	}
}
