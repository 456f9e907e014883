package scheduler_test

import (
	"testing"

	"switchboard/scheduler"
)

func TestCronIsReadInWords(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"17 * * * *":            "at minute 17 of every hour (UTC)",
		"0 9-17 * * 1-5":        "every weekday, hourly from 09:00 to 17:00 (UTC)",
		"30 8-20 * * *":         "every day, hourly from 08:30 to 20:30 (UTC)",
		"*/15 * * * 1-5":        "every weekday, every 15 minutes (UTC)",
		"*/10 9-17 * * mon,fri": "every Monday and Friday, every 10 minutes from 09:00 to 17:50 (UTC)",
		"* * * * *":             "every minute (UTC)",
		"0 9 * * 1-5":           "every weekday at 09:00 (UTC)",
		"0 9-17 1 * *":          "cron 0 9-17 1 * * (UTC)",
		"0 1,3,5,7,9 * * *":     "cron 0 1,3,5,7,9 * * * (UTC)",
		"7-40 * * * *":          "cron 7-40 * * * * (UTC)",
		"0 9-17 * * 1#1":        "cron 0 9-17 * * 1#1 (UTC)",
		"nonsense":              "cron nonsense (UTC)",
	} {
		if got := (&scheduler.Spec{Cron: cron, Zone: "UTC"}).Words(); got != want {
			t.Errorf("%s: %q, want %q", cron, got, want)
		}
	}
}
