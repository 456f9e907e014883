package scheduler

import (
	"strings"
	"testing"
	"time"
)

// Days that are counted in their month, and the seventh day of a week.
func TestCronCountsDays(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"0 9 * * 7":         "2026-11-29 2026-12-06 2026-12-13",
		"0 9 * * 5-7":       "2026-11-27 2026-11-28 2026-11-29",
		"0 9 * * 1-7/2":     "2026-11-25 2026-11-27 2026-11-29",
		"0 9 L * *":         "2026-11-30 2026-12-31 2027-01-31",
		"0 9 15,L * *":      "2026-11-30 2026-12-15 2026-12-31",
		"0 9 L 2 *":         "2027-02-28 2028-02-29 2029-02-28",
		"0 9 * * 1#1":       "2026-12-07 2027-01-04 2027-02-01",
		"0 9 * * MON#5":     "2026-11-30 2027-03-29 2027-05-31",
		"0 9 * * 5L":        "2026-11-27 2026-12-25 2027-01-29",
		"0 9 * * fril":      "2026-11-27 2026-12-25 2027-01-29",
		"0 9 * * 0#1,3#2":   "2026-12-06 2026-12-09 2027-01-03",
		"0 9 * 12 1,5L":     "2026-12-07 2026-12-14 2026-12-21",
		"0 9 13 * 5L":       "2026-11-27 2026-12-13 2026-12-25", // one or the other, as cron has it
		"0 9 L * 1#1":       "2026-11-30 2026-12-07 2026-12-31",
		"0 9 LW * *":        "2026-11-30 2026-12-31 2027-01-29",
		"0 9 1w 1,8-11 *":   "2027-01-01 2027-08-02 2027-09-01",
		"0 9 1W,LW * 6":     "2026-11-28 2026-11-30 2026-12-01",
		"0 0 9 L * ?":       "2026-11-30 2026-12-31 2027-01-31",
		"0 9 29-31/2 * *":   "2026-11-29 2026-12-29 2026-12-31",
		"0 9 1 jan-mar/2 ?": "2027-01-01 2027-03-01 2028-01-01",
	} {
		s := Spec{Cron: cron, Zone: "Europe/Rome"}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", cron, err)
		}
		var got []string
		for _, slot := range s.Upcoming(at(t, spoken), 3) {
			zone, _ := Zone(s.Zone)
			got = append(got, slot.In(zone).Format(time.DateOnly))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s; want %s", cron, got, want)
		}
	}
}

// What is no cron expression is refused with what to write.
func TestCronSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"60 9 * * *":    "“60” is not a minute; write 0, * or */15",
		"0 25 * * *":    "“25” is not an hour; write 9, 9-17 or */2",
		"0 9 32 * *":    "“32” is not a day of the month; write 1, 1,15 or L for the last",
		"0 9 1 13 *":    "“13” is not a month; write 12, dec or 1-6",
		"0 9 * * 8":     "“8” is not a day of the week; write 1 for Monday",
		"0 9 * * 1#6":   "“1#6” is not a day of the week",
		"0 9 * * #1":    "“#1” is not a day of the week",
		"0 9 * * L":     "“L” is not a day of the week",
		"0 9 1L * *":    "“1L” is not a day of the month",
		"0 17-9 * * *":  "in “17-9” the first is above the last",
		"*/0 9 * * *":   "“*/0” is not a minute",
		"1,,2 9 * * *":  "“” is not a minute",
		"+1 9 * * *":    "“+1” is not a minute",
		"0 9 * *":       "it has five fields (minute, hour, day, month, day of the week), such as 0 8 * * 1-5",
		"0 0 0 9 * * *": "it has five fields",
		"@reboot":       "write @hourly, @daily, @weekly, @monthly or @yearly",
	} {
		s := Spec{Cron: cron, Zone: "UTC"}
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", cron, err, want)
		}
	}
}
