package scheduler

import (
	"strings"
	"testing"
	"time"
)

// at reads an instant, or fails.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	got, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return got.UTC()
}

func slots(times []time.Time, zone string) string {
	loc, _ := Zone(zone)
	var out []string
	for _, s := range times {
		out = append(out, s.In(loc).Format("01-02T15:04Z07:00"))
	}
	return strings.Join(out, " ")
}

// What the clock does where it is changed, spec by spec.
func TestSlotsWhereTheClockIsChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec  Spec
		after string
		want  string
	}{
		"a time that does not exist is the first instant after the gap": {
			Spec{Cron: "30 2 * * *", Zone: "Europe/Rome"}, "2026-03-28T12:00:00Z", "03-29T03:00+02:00 03-30T02:30+02:00",
		},
		"a time that exists twice is the first": {
			Spec{Cron: "30 2 * * *", Zone: "Europe/Rome"}, "2026-10-24T12:00:00Z", "10-25T02:30+02:00 10-26T02:30+01:00",
		},
		"also asked between the two": {
			Spec{Cron: "30 2 * * *", Zone: "Europe/Rome"}, "2026-10-25T00:45:00Z", "10-26T02:30+01:00 10-27T02:30+01:00",
		},
		"the end of what exists twice is no part of it": {
			Spec{Cron: "0 3 * * *", Zone: "Europe/Rome"}, "2026-10-25T01:30:00Z", "10-25T03:00+01:00 10-26T03:00+01:00",
		},
		"slots on one instant are one": {
			Spec{Cron: "0,15,30 2,3 * * *", Zone: "Europe/Rome"}, "2026-03-28T12:00:00Z", "03-29T03:00+02:00 03-29T03:15+02:00 03-29T03:30+02:00",
		},
		"each hour is each real hour, in spring": {
			Spec{Cron: "30 * * * *", Zone: "Europe/Rome"}, "2026-03-29T00:00:00Z", "03-29T01:30+01:00 03-29T03:30+02:00 03-29T04:30+02:00",
		},
		"and in autumn": {
			Spec{Cron: "30 * * * *", Zone: "Europe/Rome"}, "2026-10-25T00:00:00Z", "10-25T02:30+02:00 10-25T02:30+01:00 10-25T03:30+01:00",
		},
		"each second hour as the clock shows it": {
			Spec{Cron: "0 */2 * * *", Zone: "Europe/Rome"}, "2026-10-24T23:00:00Z", "10-25T02:00+02:00 10-25T02:00+01:00 10-25T04:00+01:00",
		},
		"half an hour, Lord Howe": {
			Spec{Cron: "45 1 * * *", Zone: "Australia/Lord_Howe"}, "2026-04-04T12:00:00Z", "04-05T01:45+11:00 04-06T01:45+10:30",
		},
		"half an hour of a gap, Lord Howe": {
			Spec{Cron: "15 2 * * *", Zone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", "10-04T02:30+11:00 10-05T02:15+11:00",
		},
		"midnight does not exist, Beirut": {
			Spec{Cron: "@daily", Zone: "Asia/Beirut"}, "2026-03-28T12:00:00Z", "03-29T01:00+03:00 03-30T00:00+03:00",
		},
		"a day does not exist, Apia": {
			Spec{Cron: "0 9 * * *", Zone: "Pacific/Apia"}, "2011-12-29T12:00:00Z", "12-29T09:00-10:00 12-31T00:00+14:00 12-31T09:00+14:00",
		},
		"an interval does not care": {
			Spec{Every: 24 * time.Hour, Anchor: time.Date(2026, 10, 24, 7, 0, 0, 0, time.UTC), Zone: "Europe/Rome"}, "2026-10-23T12:00:00Z", "10-24T09:00+02:00 10-25T08:00+01:00",
		},
		"once, in a gap": {Spec{At: "2026-03-29T02:30:00", Zone: "Europe/Rome"}, "2026-03-28T12:00:00Z", "03-29T03:00+02:00"},
		"once, twice":    {Spec{At: "2026-10-25T02:30:00", Zone: "Europe/Rome"}, "2026-03-28T12:00:00Z", "10-25T02:30+02:00"},
		"29 February, around 2100": {
			Spec{Cron: "0 9 29 2 *", Zone: "UTC"}, "2096-03-01T00:00:00Z", "02-29T09:00Z",
		},
		"hours over midnight": {
			Spec{Cron: "0 */3 * * *", Zone: "UTC", Hours: "22:00-06:00"}, "2026-01-01T12:00:00Z", "01-02T00:00Z 01-02T03:00Z 01-03T00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.spec.Check(); err != nil {
				t.Fatal(err)
			}
			if got := slots(c.spec.Upcoming(at(t, c.after), len(strings.Fields(c.want))), c.spec.Zone); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", &c.spec, got, c.want)
			}
		})
	}
}

// What no job may have is refused in a sentence, and never a panic.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Spec{
		"give one of":                  {Zone: "UTC"},
		"give one of a time":           {Zone: "UTC", At: "2026-12-05T09:00:00", Cron: "@daily"},
		"\"\" is not a time zone":      {Cron: "@daily"},
		"\"Local\" is not a time zone": {Cron: "@daily", Zone: "Local"},
		"did you mean Europe/Rome?":    {Cron: "@daily", Zone: "Europe/Rom"},
		"\"../passwd\" is not":         {Cron: "@daily", Zone: "../passwd"},
		"not part of it":               {Cron: "TZ=Europe/Rome", Zone: "UTC"},
		"\"CRON_TZ=X 0 9 * * *\"":      {Cron: "CRON_TZ=X 0 9 * * *", Zone: "UTC"},
		"it has five fields":           {Cron: "0 9 * *", Zone: "UTC"},
		"“” is not a minute":           {Cron: ", 9 * * *", Zone: "UTC"},
		"every year on 31 February":    {Cron: "0 9 31 2 *", Zone: "UTC"},
		"“24” is not an hour":          {Cron: "0 24 * * *", Zone: "UTC"},
		"every 15 minutes":             {Cron: "@every 1h", Zone: "UTC"},
		"@daily, @weekly":              {Cron: "@reboot", Zone: "UTC"},
		"whole seconds":                {Every: 1500 * time.Millisecond, Zone: "UTC"},
		"the interval -1s":             {Every: -time.Second, Zone: "UTC"},
		"longer than ten years":        {Every: 100_000 * time.Hour, Zone: "UTC"},
		"the year 1 ":                  {Every: time.Hour, Anchor: time.Date(1, 1, 1, 1, 0, 0, 0, time.UTC), Zone: "UTC"},
		"the year 2999":                {At: "2999-01-01T00:00:00", Zone: "UTC"},
		"is not written as 2026":       {At: "tomorrow", Zone: "UTC"},
		"once takes no interval":       {At: "2026-12-05T09:00:00", Zone: "UTC", Most: 3},
		"the hours \"8-22\"":           {Cron: "@daily", Zone: "UTC", Hours: "8-22"},
		"the hours \"08:00-25:00\"":    {Cron: "@daily", Zone: "UTC", Hours: "08:00-25:00"},
		"leave them out":               {Cron: "@daily", Zone: "UTC", Hours: "08:00-08:00"},
		"never due":                    {Cron: "0 9 * * *", Zone: "UTC", Hours: "10:00-12:00"},
		"the end is before the start":  {Cron: "@daily", Zone: "UTC", From: time.Unix(9e8, 0), Until: time.Unix(8e8, 0)},
		"the jitter is not between":    {Cron: "@yearly", Zone: "UTC", Jitter: 25 * time.Hour},
		"longer than the time between": {Every: time.Minute, Zone: "UTC", Jitter: time.Hour},
		"number of runs":               {Cron: "@daily", Zone: "UTC", Most: -1},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", s, err, want)
		}
	}
}

// No two slots are less than the jitter apart, so jobs keep their order; and a slot is due at the same
// instant whoever computes it.
func TestJitter(t *testing.T) {
	t.Parallel()
	a := Job{ID: 7, Spec: Spec{Cron: "* * * * *", Zone: "UTC", Jitter: time.Minute}}
	b := Job{ID: 8, Spec: a.Spec}
	seen, now := map[time.Duration]bool{}, at(t, "2026-01-01T00:00:00Z")
	for range 100 {
		again := a
		a.Arm(now)
		again.Arm(now)
		b.Arm(now)
		d := a.Due.Sub(a.Slot)
		if !a.Due.Equal(again.Due) || a.Due.Equal(b.Due) || d < 0 || d >= time.Minute {
			t.Fatalf("slot %s due %s and %s, of another %s", a.Slot, a.Due, again.Due, b.Due)
		}
		seen[d], now = true, a.Slot
	}
	if len(seen) < 90 {
		t.Errorf("%d different of 100", len(seen))
	}
}
