package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// says writes the rows of a claim: "12 missed 00:00-01:50, due 02:00, next 02:10".
func says(c Claim) string {
	var rows []string
	for _, r := range c.Runs {
		switch r.State {
		case RunMissed:
			rows = append(rows, fmt.Sprintf("%d missed %s-%s", r.Count, r.Slot.Format("15:04"), r.Last.Format("15:04")))
			if r.Reason != "" {
				rows[len(rows)-1] += " " + r.Reason
			}
		default:
			rows = append(rows, string(r.State)+" "+r.Slot.Format("15:04"))
		}
	}
	next := "none"
	if !c.Slot.IsZero() {
		next = c.Slot.Format("15:04")
	}
	return strings.Join(append(rows, "next "+next), ", ")
}

// With misfire skip a slot that fell due while no engine ran is missed however short that was, and one that a running
// engine claims late is not.
func TestSkipGoesByWhetherAnEngineRan(t *testing.T) {
	t.Parallel()
	slot := at(t, "2026-11-23T00:00:00Z")
	job := Job{ID: 1, Spec: Spec{Every: 10 * time.Minute, Anchor: slot, Zone: "UTC"}, Slot: slot, Due: slot, Rules: Rules{Misfire: MisfireSkip}}
	for _, c := range []struct {
		down, since time.Duration
		want        string
	}{
		{20 * time.Second, 10 * time.Second, "1 missed 00:00-00:00, next 00:10"},
		{20 * time.Second, -time.Second, "due 00:00, next 00:10"},
		{5 * time.Minute, -time.Hour, "due 00:00, next 00:10"},
		{15 * time.Minute, 12 * time.Minute, "2 missed 00:00-00:10, next 00:20"},
		{15 * time.Minute, 5 * time.Minute, "1 missed 00:00-00:00, due 00:10, next 00:20"},
	} {
		if got := says(Decide(job, slot.Add(c.down), 0, Defaults{Since: slot.Add(c.since)})); got != c.want {
			t.Errorf("looked at after %s, by an engine that began after %s: %s; want %s", c.down, c.since, got, c.want)
		}
	}
	once := Job{ID: 1, Spec: Spec{At: "2026-11-23T00:00:00", Zone: "UTC"}, Slot: slot, Due: slot, Rules: Rules{Misfire: MisfireSkip}}
	if got := says(Decide(once, slot.Add(time.Hour), 0, Defaults{Since: slot.Add(time.Minute)})); got != "due 00:00, next none" {
		t.Errorf("what comes once: %s", got)
	}
}

// A job that is due each ten minutes, from midnight on, and what is looked at it so much later.
func TestMisfires(t *testing.T) {
	t.Parallel()
	midnight := at(t, "2026-11-23T00:00:00Z")
	for _, c := range []struct {
		down            time.Duration
		skip, once, all string
	}{
		{-time.Second, "next 00:00", "next 00:00", "next 00:00"},
		{0, "due 00:00, next 00:10", "due 00:00, next 00:10", "due 00:00, next 00:10"},
		{time.Minute, "due 00:00, next 00:10", "due 00:00, next 00:10", "due 00:00, next 00:10"},
		{61 * time.Second, "1 missed 00:00-00:00, next 00:10", "due 00:00, next 00:10", "due 00:00, next 00:10"},
		{
			10 * time.Minute, "1 missed 00:00-00:00, due 00:10, next 00:20", "1 missed 00:00-00:00, due 00:10, next 00:20",
			"due 00:00, due 00:10, next 00:20",
		},
		{
			35 * time.Minute, "4 missed 00:00-00:30, next 00:40", "3 missed 00:00-00:20, due 00:30, next 00:40",
			"due 00:00, due 00:10, due 00:20, due 00:30, next 00:40",
		},
		{
			2*time.Hour + 5*time.Minute, "13 missed 00:00-02:00, next 02:10", "12 missed 00:00-01:50, due 02:00, next 02:10",
			"7 missed 00:00-01:00, due 01:10, due 01:20, due 01:30, due 01:40, due 01:50, due 02:00, next 02:10",
		},
		{
			30 * 24 * time.Hour, "4320 missed 00:00-23:50, due 00:00, next 00:10", "4320 missed 00:00-23:50, due 00:00, next 00:10",
			"4314 missed 00:00-22:50, due 23:00, due 23:10, due 23:20, due 23:30, due 23:40, due 23:50, due 00:00, next 00:10",
		},
	} {
		for misfire, want := range map[Misfire]string{MisfireSkip: c.skip, MisfireOnce: c.once, MisfireAll: c.all} {
			for kind, spec := range map[string]Spec{
				"every": {Every: 10 * time.Minute, Anchor: midnight, Zone: "UTC"},
				"cron":  {Cron: "*/10 * * * *", Zone: "Asia/Kolkata"},
			} {
				job := Job{ID: 1, Spec: spec, Slot: midnight, Due: midnight}
				settings := Defaults{Misfire: misfire, Grace: time.Hour}
				if got := says(Decide(job, midnight.Add(c.down), 0, settings)); got != want {
					t.Errorf("%s of %s, after %s: %s; want %s", misfire, kind, c.down, got, want)
				}
				job.Rules = Rules{Misfire: misfire, Grace: time.Hour}
				if got := says(Decide(job, midnight.Add(c.down), 0, Defaults{Misfire: "once", Grace: time.Second})); got != want {
					t.Errorf("%s of %s by its own rules, after %s: %s; want %s", misfire, kind, c.down, got, want)
				}
			}
		}
	}
}

// What else decides: grace, one-shots, overlap, the number of runs, the end.
func TestDecide(t *testing.T) {
	t.Parallel()
	midnight := at(t, "2026-11-23T00:00:00Z")
	hourly := Spec{Cron: "0 * * * *", Zone: "UTC"}
	for name, c := range map[string]struct {
		job  Job
		down time.Duration
		open int
		want string
	}{
		"beyond the grace": {
			Job{Spec: hourly, Rules: Rules{Grace: 10 * time.Minute}}, 30 * time.Minute, 0, "1 missed 00:00-00:00, next 01:00",
		},
		"all, bounded": {
			Job{Spec: Spec{Cron: "* * * * *", Zone: "UTC"}, Rules: Rules{Misfire: MisfireAll, Grace: 48 * time.Hour}},
			24 * time.Hour, 0,
			"1341 missed 00:00-22:20, " + strings.Repeat("due, ", 100) + "next 00:01",
		},
		"all, of more than are counted": {
			Job{Spec: Spec{Cron: "* * * * *", Zone: "UTC"}, Rules: Rules{Misfire: MisfireAll, Grace: 480 * time.Hour}},
			240 * time.Hour, 0,
			"7400 missed 00:00-22:20 and more, which were not counted, " + strings.Repeat("due, ", 100) + "next 00:01",
		},
		"once is late whatever the grace": {Job{Spec: Spec{At: "2026-11-23T00:00:00", Zone: "UTC"}}, 800 * time.Hour, 0, "due 00:00, next none"},
		"once is late also with skip": {
			Job{Spec: Spec{At: "2026-11-23T00:00:00", Zone: "UTC"}, Rules: Rules{Misfire: MisfireSkip}}, time.Hour, 0, "due 00:00, next none",
		},
		"a run is open":        {Job{Spec: hourly}, 0, 1, "skipped 00:00, next 01:00"},
		"a run is open, skip":  {Job{Spec: hourly, Rules: Rules{Overlap: OverlapSkip}}, 0, 1, "skipped 00:00, next 01:00"},
		"a run is open, queue": {Job{Spec: hourly, Rules: Rules{Overlap: OverlapQueue}}, 0, 3, "due 00:00, next 01:00"},
		"a run is open, allow": {Job{Spec: hourly, Rules: Rules{Overlap: OverlapAllow}}, 0, 3, "due 00:00, next 01:00"},
		"100 are open, queue":  {Job{Spec: hourly, Rules: Rules{Overlap: OverlapQueue}}, 0, MostOpen, "skipped 00:00, next 01:00"},
		"100 are open, allow":  {Job{Spec: hourly, Rules: Rules{Overlap: OverlapAllow}}, 0, MostOpen, "skipped 00:00, next 01:00"},
		"99 are open, allow, all": {
			Job{Spec: hourly, Rules: Rules{Misfire: MisfireAll, Grace: 9 * time.Hour, Overlap: OverlapAllow}},
			2 * time.Hour, MostOpen - 1,
			"due 00:00, skipped 01:00, skipped 02:00, next 03:00",
		},
		"open and missed":         {Job{Spec: hourly}, 3*time.Hour + time.Second, 1, "3 missed 00:00-02:00, skipped 03:00, next 04:00"},
		"the last of three":       {Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Most: 3}, Runs: 2}, 0, 0, "due 00:00, next none"},
		"the second of three":     {Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Most: 3}, Runs: 1}, 0, 0, "due 00:00, next 01:00"},
		"missed ones do not run":  {Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Most: 3}, Runs: 1}, 5 * time.Hour, 0, "5 missed 00:00-04:00, due 05:00, next 06:00"},
		"skipped ones do neither": {Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Most: 3}, Runs: 2}, 0, 1, "skipped 00:00, next 01:00"},
		"all, but two in all": {
			Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Most: 3}, Runs: 1, Rules: Rules{Misfire: MisfireAll, Grace: 9 * time.Hour}},
			5 * time.Hour, 0, "due 00:00, due 01:00, next none",
		},
		"the end was reached meanwhile": {
			Job{Spec: Spec{Cron: "0 * * * *", Zone: "UTC", Until: midnight.Add(2 * time.Hour)}}, 10 * time.Hour, 0, "3 missed 00:00-02:00, next none",
		},
		"none is left": {Job{Spec: hourly, State: JobDone}, -time.Hour, 0, "next 00:00"},
	} {
		job := c.job
		job.ID, job.Slot, job.Due = 9, midnight, midnight
		got := Decide(job, midnight.Add(c.down), c.open, Defaults{Misfire: MisfireOnce, Grace: time.Hour})
		if strings.Contains(c.want, "due, ") { // so many that they are not written out
			for i := range got.Runs {
				if got.Runs[i].State == RunDue {
					c.want = strings.Replace(c.want, "due, ", got.Runs[i].Slot.Format("due 15:04")+", ", 1)
				}
			}
		}
		if says(got) != c.want {
			t.Errorf("%s: %s; want %s", name, says(got), c.want)
		}
		for _, r := range got.Runs {
			if r.JobID != 9 || r.Try != 1 || r.Claimed.IsZero() || r.State == RunDue && r.StartAt.IsZero() {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// However much passed, deciding takes little, and each slot is in one row.
func TestDecideAfterAYear(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	job := Job{Spec: Spec{Cron: "* * * * * *", Zone: "Europe/Rome"}, Slot: at(t, "2026-01-01T00:00:00Z"), Due: at(t, "2026-01-01T00:00:00Z")}
	now := at(t, "2027-01-01T00:00:00Z")
	got := Decide(job, now, 0, Defaults{Misfire: MisfireAll, Grace: 9000 * time.Hour})
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if n := len(got.Runs); n != 1+MostMissed || got.Runs[0].Count < mostCounted || !got.Runs[n-1].Slot.Equal(now) || !got.Slot.Equal(now.Add(time.Second)) {
		t.Errorf("%d rows, %+v … %+v, next %s", n, got.Runs[0], got.Runs[n-1], got.Slot)
	}
	if said := summary([]DueRun{{Job: job, Run: got.Runs[0]}}); !strings.Contains(said, "more than ") {
		t.Errorf("its owner is told %q", said)
	}
}

// Whenever it is looked at, each slot is in one row, in order, with jitter and across changes of
// the clock.
func TestEachSlotIsInOneRow(t *testing.T) {
	t.Parallel()
	for _, misfire := range []Misfire{MisfireSkip, MisfireOnce, MisfireAll} {
		job := Job{ID: 3, Spec: Spec{Cron: "*/20 1-4 * * *", Zone: "Europe/Rome", Jitter: 15 * time.Minute}, Rules: Rules{Misfire: misfire, Grace: time.Hour}}
		start := at(t, "2026-03-27T00:00:00Z")
		slots := job.Spec.Upcoming(start, 400)
		job.Arm(start)
		now, covered := start, 0
		for i := 0; covered < 300; i++ {
			now = now.Add(time.Duration(i*i%37*i%29) * time.Minute)
			claim := Decide(job, now, 0, Defaults{})
			for _, r := range claim.Runs {
				n := r.Count
				if !r.Slot.Equal(slots[covered]) || !r.Last.Equal(slots[covered+n-1]) {
					t.Fatalf("%s at %s: %+v, want slot %s", misfire, now, r, slots[covered])
				}
				covered += n
			}
			if !claim.Slot.Equal(slots[covered]) || covered > 0 && job.due(slots[covered-1]).After(now) || !claim.Due.After(now) {
				t.Fatalf("%s at %s: next %s due %s, want %s", misfire, now, claim.Slot, claim.Due, slots[covered])
			}
			job.Slot, job.Due = claim.Slot, claim.Due
		}
	}
}
