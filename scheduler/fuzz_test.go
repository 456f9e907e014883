package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever somebody writes is a time that comes, or an error that says something; what was read is
// said in words that are read as the same.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"in 3 seconds to stretch", "tomorrow at 9 to call Ann", "every weekday at 8 send me the open tasks", "at 9", "next friday",
		"every 15 minutes between 22:00 and 6:00 until 5 december at 12:00 (Europe/Rome), 9 times", "cron 0 8 * * 1-5 x", "in 999999 years",
		"on 29 february at 2:30am", "every month on the 31st at 5", "2026-10-25T02:30:00+01:00", "every -1 seconds", "at 24", "cron TZ=", "cron \x00",
		"once, Tuesday 1 December 2026 at 09:00 (Europe/Rome)", "every night at 12", "in 1h30m0.5s", "every 2 weeks on monday at 9 from tomorrow", "İstanbul at 9",
		"can you remind me tomorow at nine pm about the march?", "erinnere mich am 5.12. um halb acht daran, Anna anzurufen", "ricordami fra un'ora e mezza d'uscire", "cada primer lunes del mes a las 9 y media", "rappelle-moi d'appeler Luc demain à 9h heure de Paris",
	} {
		f.Add(text, int64(1763888400), "Europe/Rome")
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, zone string) {
		now := time.Unix(1e9+(unix%4e9+4e9)%4e9, 0)
		when, err := Read(text, now, zone)
		if ambiguous, ok := errors.AsType[*Ambiguous](err); ok {
			if len(ambiguous.Choices) < 1 || len(ambiguous.Choices) < 2 && ambiguous.Why == "" {
				t.Fatalf("one choice: %v", err)
			}
			for _, c := range ambiguous.Choices {
				same(t, c.When.Spec, c.Words, now, zone)
			}
			return
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		for word := range strings.FieldsSeq(when.Rest) {
			if !strings.Contains(text, word) {
				t.Fatalf("%q of the rest is no part of it", word)
			}
		}
		same(t, when.Spec, when.Spec.String(), now, zone)
	})
}

// same: s is valid, comes, and words mean it.
func same(t interface{ Fatalf(string, ...any) }, s Spec, words string, now time.Time, zone string) {
	if err := s.Check(); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	slot, ok := s.Next(now)
	if !ok || !slot.After(now) {
		t.Fatalf("%+v after %s: %s", s, now, slot)
	}
	again, err := Read(words, now, zone)
	if err != nil {
		t.Fatalf("%+v is said as %q: %v", s, words, err)
	}
	if next, _ := again.Spec.Next(now); s.Every == 0 && !next.Equal(slot) || again.Rest != "" || again.Spec.String() != s.String() {
		t.Fatalf("%+v is said as %q, which is %+v with %q left", s, words, again.Spec, again.Rest)
	}
}

// No spec panics, never ends or has a slot that is not after the last.
func FuzzSpec(f *testing.F) {
	for _, cron := range []string{"0 9 * * *", "*/5 */2 * * *", "TZ=", "CRON_TZ=UTC 0 9 * * *", "@every 1s", "@daily", ", , , , ,", "0 0 29 2 *", "1-60 * * * *", "*/0 * * * *"} {
		f.Add(cron, "", int64(0), "Europe/Rome", "", int64(1.7e9))
	}
	f.Add("", "2026-03-29T02:30:00", int64(0), "Europe/Rome", "", int64(1.7e9))
	f.Add("", "", int64(7200), "Australia/Lord_Howe", "22:00-06:00", int64(1.9e9))
	f.Add("0 1 * * *", "", int64(0), "Africa/Casablanca", "02:00-01:00", int64(2.2e9))
	f.Fuzz(func(t *testing.T, cron, once string, every int64, zone, hours string, unix int64) {
		s := Spec{At: once, Every: time.Duration(every) * time.Second, Cron: cron, Zone: zone, Hours: hours}
		_ = s.String()
		if s.Check() != nil {
			return
		}
		after := time.Unix(unix%1e10, 0)
		for _, slot := range s.Upcoming(after, 5) {
			if !slot.After(after) {
				t.Fatalf("%+v: %s after %s", s, slot, after)
			}
			after = slot
		}
	})
}

// What String says of any spec is read as that spec.
func TestStringIsRead(t *testing.T) {
	t.Parallel()
	number := func(t *rapid.T, from, to int) int { return rapid.IntRange(from, to).Draw(t, "number") }
	now := at(t, spoken)
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{Zone: rapid.SampledFrom([]string{"UTC", "Europe/Rome", "Australia/Lord_Howe", "America/Argentina/Buenos_Aires"}).Draw(t, "zone")}
		instant := func() time.Time { return now.Add(time.Duration(number(t, 1, 4e7)) * time.Second) }
		switch number(t, 0, 4) {
		case 0:
			zone, _ := Zone(s.Zone)
			s.At = wall(instant(), zone).Format(local)
		case 1:
			s.At = instant().Format(time.RFC3339)
		case 2:
			s.Every = time.Duration(number(t, 1, 400)) * rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "unit")
			s.Anchor = now.Add(s.Every)
		default:
			days := rapid.SampledFrom([]string{"* * *", "* * 1-5", "* * 0,6", "* * 1,3", "1 * *", "2,13,31 * *", "29 2 *", "1 */3 *", "* * 7", "L * *", "* * 1#1", "* * 5L", "15 * 1#2", "L 2 *", "LW * *", "1W 1,7 *", "2,13 2,8 *"}).Draw(t, "days")
			times := rapid.SampledFrom([]string{"0 9", "30 0", "5 6,12,23", "*/5 *", "0 */2", "7 1-9", "15 30 9"}).Draw(t, "times")
			s.Cron = times + " " + days
		}
		if s.At == "" {
			s.Most = rapid.SampledFrom([]int{0, 1, 12}).Draw(t, "most")
			s.Hours = rapid.SampledFrom([]string{"", "08:00-22:00", "22:30-06:00", "00:00-24:00", "10:00-10:30"}).Draw(t, "hours")
			if s.Every != 0 && s.Hours != "" { // when it begins is not said, and may be outside them
				s.Every, s.Anchor = 5*time.Minute, now.Add(5*time.Minute)
			}
			if number(t, 0, 1) == 1 {
				s.From = instant()
			}
			if number(t, 0, 1) == 1 {
				s.Until = now.Add(20_000 * time.Hour)
			}
		}
		if s.Check() != nil {
			t.Skip()
		}
		if _, ok := s.Next(now); !ok {
			t.Skip()
		}
		same(t, s, s.String(), now, "Asia/Tokyo")
	})
}
