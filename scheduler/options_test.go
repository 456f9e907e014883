package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/scheduler"
)

// Each option is taken in words, is said again in words that it takes, and is taken away; what it does not take is
// refused with what it does.
func TestOptions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	weekdays := scheduler.Spec{Cron: "0 8 * * 1-5", Zone: "Europe/Rome"}
	for _, c := range []struct {
		payload           scheduler.Payload
		name, value, want string // want: what is beside, or the spec, or the error
	}{
		{"agent", "misfire", "ALL", "misfire all"},
		{"agent", "misfire", "never", "misfire takes skip, once or all, not \"never\""},
		{"agent", "grace", "2 hours", "grace 2h"},
		{"agent", "grace", "0s", "grace takes a time"},
		{"agent", "grace", "213504 days", "grace takes a time"},
		{"agent", "overlap", "queue", "overlap queue"},
		{"notify", "overlap", "allow", "overlap allow"},
		{"agent", "jitter", "90s", "jitter 1m30s"},
		{"agent", "jitter", "5 minutes or so", "jitter takes a time"},
		{"agent", "jitter", "25h", "jitter takes a time"},
		{"agent", "timeout", "10m", "timeout 10m"},
		{"agent", "timeout", "100h", "timeout takes"},
		{"notify", "timeout", "10m", "timeout is for tasks and heartbeats"},
		{"notify", "retries", "0", "retries 0"},
		{"agent", "retries", "6", "retries takes a number from 0 to 5"},
		{"agent", "budget", "0.25", "budget 0.25"},
		{"agent", "budget", "0", "budget takes"},
		{"agent", "budget", "0x1p-2", "budget takes"},
		{"agent", "budget", "1_0", "budget takes"},
		{"agent", "budget", "1e2", "budget takes"},
		{"agent", "budget", "-1", "budget takes"},
		{"agent", "budget", "1000001", "budget takes"},
		{"agent", "budget", "1.0.0", "budget takes"},
		{"agent", "budget", "NaN", "budget takes"},
		{"agent", "budget", "Inf", "budget takes"},
		{"send", "model", "m", "model is for tasks"},
		{"heartbeat", "model", "m", "model m"},
		{"heartbeat", "checklist", "ada.md", "checklist ada.md"},
		{"heartbeat", "checklist", "../ada.md", "checklist takes a file"},
		{"agent", "checklist", "ada.md", "checklist is for heartbeats"},
		{"agent", "from", "5 december at 9", "from Saturday 5 December 2026 at 09:00 (Europe/Rome)"},
		{"agent", "until", "2026-12-31", "until Thursday 31 December 2026 at 23:59:59"},
		{"agent", "until", "31 december, 3 times", "until takes"},
		{"agent", "until", "yesterday", "until takes"},
		{"agent", "until", "some day", "until takes"},
		{"agent", "hours", "7:00-12:00", "between 07:00 and 12:00"},
		{"agent", "hours", "22:00-06:00", "this is never due"},
		{"agent", "hours", "morning", "hours takes hours such as 8:00-22:00"},
		{"agent", "times", "5", ", 5 times"},
		{"agent", "times", "2", "it ran 2 times already"},
		{"agent", "times", "0", "times takes"},
		{"agent", "timezone", "tokyo", "every weekday at 08:00 (Asia/Tokyo)"},
		{"agent", "timezone", "Mars/Base", "timezone takes an IANA name"},
		{"agent", "overlap", " ", "overlap takes skip, queue or allow; default takes it away"},
		{"agent", "colour", "red", "there is no option \"colour\"; there are misfire, grace, "},
	} {
		job := scheduler.Job{Payload: c.payload, Spec: weekdays, Runs: 2}
		if err := job.Set(c.name, c.value, now); err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %q: %v, want %q", c.name, c.value, err, c.want)
			}
			continue
		}
		said := strings.Join(job.ChosenOptions(), ", ")
		if !strings.Contains(said+job.Spec.String(), c.want) {
			t.Errorf("%s %q: %q, %s; want %q", c.name, c.value, said, &job.Spec, c.want)
		}
		again := scheduler.Job{Payload: c.payload, Spec: weekdays, Runs: 2}
		if name, value, is := strings.Cut(said, " "); is {
			if err := again.Set(name, value, now); err != nil || strings.Join(again.ChosenOptions(), ", ") != said {
				t.Errorf("%q is read again as %q, %v", said, again.ChosenOptions(), err)
			}
		}
		if c.name == "timezone" {
			continue // there is none without
		}
		if err := job.Set(c.name, scheduler.DefaultValue, now); err != nil || len(job.ChosenOptions()) > 0 || job.Spec != weekdays {
			t.Errorf("%s without: %v, %q, %s", c.name, err, job.ChosenOptions(), &job.Spec)
		}
	}
	if err := new(scheduler.Job).Set("timezone", "default", now); err == nil {
		t.Error("a job goes without a zone")
	}
	once := scheduler.Job{Payload: scheduler.PayloadNotify, Spec: scheduler.Spec{At: "2026-12-05T09:00:00", Zone: "UTC"}}
	if err := once.Set("times", "2", now); err == nil || !strings.Contains(err.Error(), "due once") {
		t.Errorf("of a job that is due once: %v", err)
	}
	interval := scheduler.Job{Spec: scheduler.Spec{Every: time.Hour, Anchor: now, Zone: "UTC"}}
	if err := interval.Set("from", "5 december at 9:30", now); err != nil || !interval.Spec.Anchor.Equal(interval.Spec.From) {
		t.Errorf("the interval is not counted from its start: %+v, %v", interval.Spec, err)
	}
}

// A job of days and weeks that starts later keeps its weekday and its time; one that does not comes as before.
func TestIntervalKeepsItsDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"every other monday at 9": time.Date(2026, 12, 7, 8, 0, 0, 0, time.UTC),
		"every 2 days at 9":       time.Date(2026, 12, 5, 8, 0, 0, 0, time.UTC),
		"every 12 hours":          time.Date(2026, 12, 4, 23, 0, 0, 0, time.UTC),
	} {
		read, err := scheduler.Read(text, now, "Europe/Rome")
		if err != nil {
			t.Fatal(err)
		}
		job := scheduler.Job{Spec: read.Spec}
		if err := job.Set("from", "5 december", now); err != nil {
			t.Fatal(err)
		}
		if next, _ := job.Spec.Next(now); !next.Equal(want) || !job.Spec.From.Equal(want) {
			t.Errorf("%s: %s; want %s; %s", text, next, want, &job.Spec)
		}
		if err := job.Set("from", scheduler.DefaultValue, now); err != nil {
			t.Fatal(err)
		}
		if next, _ := job.Spec.Next(now); next.Sub(now) > job.Spec.Every {
			t.Errorf("%s without a start: %s", text, next)
		}
	}
}

// A job that is moved to another zone has its times there, the same on the clock; what counts no clock stays.
func TestTimeZoneOfAJobIsChanged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 7, 0, 0, time.UTC)
	for when, want := range map[string]string{
		"tomorrow at 9": "2026-11-24T09:00:00+05:30", "every day at 9": "2026-11-24T09:00:00+05:30",
		"in 20 minutes": "2026-11-23T15:57:00+05:30", "every 10 minutes": "2026-11-23T15:47:00+05:30",
		"every hour between 9:00 and 18:00": "2026-11-23T16:00:00+05:30", "every 2 days from 5 december at 9": "2026-12-05T09:00:00+05:30",
		"every day at 9 until 24 november at 9": "2026-11-24T09:00:00+05:30",
	} {
		read, err := scheduler.Read(when, now, "Europe/Rome")
		if err != nil {
			t.Fatal(err)
		}
		job := scheduler.Job{Spec: read.Spec}
		if err := job.Set("timezone", "Asia/Kolkata", now); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		next, _ := job.Spec.Next(now)
		if kolkata, _ := scheduler.Zone("Asia/Kolkata"); next.In(kolkata).Format(time.RFC3339) != want || job.Spec.Zone != "Asia/Kolkata" {
			t.Errorf("%s: next %s, want %s; %s", when, next.In(kolkata).Format(time.RFC3339), want, &job.Spec)
		}
	}
}
