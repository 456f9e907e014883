package jobs_test

import (
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/scheduler"
)

// A time is read for a form as it would be for the job, and nothing is made.
func TestReadSaysWhenAJobWouldBe(t *testing.T) {
	t.Parallel()
	r := rows{jobs: []scheduler.Job{
		{ID: 1, Owner: "ann", Payload: scheduler.PayloadNotify, Text: "tea", Spec: scheduler.Spec{Cron: "0 9 * * *", Zone: "Asia/Tokyo"}, State: scheduler.JobPaused},
		{ID: 2, Owner: "root", Payload: scheduler.PayloadNotify, Text: "tea", Spec: scheduler.Spec{Cron: "0 9 * * *", Zone: "Asia/Tokyo"}, State: scheduler.JobActive},
	}}
	d := newDesk(&r)
	for _, tt := range []struct {
		id               int64
		kind, when, text string
		want             string
	}{
		{0, tools.JobRemind, "every weekday at 8", "", "That is: every weekday at 08:00 (Europe/Rome); next Tue 24 Nov 2026 08:00, Wed 25 Nov 2026 08:00, Thu 26 Nov 2026 08:00."},
		{0, tools.JobRemind, "tomorrow at 9", "call Ann", "That is: tomorrow, Tue 24 Nov, 09:00 (Europe/Rome)."},
		{0, tools.JobRemind, "tomorrow at 9 to call Ann", "", "That is: tomorrow, Tue 24 Nov, 09:00 (Europe/Rome)."},
		{0, tools.JobRemind, "tomorrow at 9 to call Ann", "tea", "do not know what"},
		{0, tools.JobTask, "every 20 seconds", "", "too often"},
		{0, tools.JobHeartbeat, "tomorrow at 9", "", "A heartbeat comes again and again"},
		{0, tools.JobRemind, "when pigs fly", "", "When? Say for example"},
		{0, "dance", "tomorrow at 9", "", "somebody to whom it goes"},
		{1, "", "every day at 10", "", "That is: every day at 10:00 (Asia/Tokyo); next Tue 24 Nov 2026 10:00, Wed 25 Nov 2026 10:00, Thu 26 Nov 2026 10:00."},
		{2, "", "every day at 10", "", "You have no job 2."},
	} {
		said, err := d.Read(t.Context(), "ann", tt.id, tools.NewJob{Kind: tt.kind, When: tt.when, Text: tt.text})
		if err != nil {
			said += err.Error()
		}
		if !strings.Contains(said, tt.want) || strings.HasPrefix(tt.want, "That is: ") != (err == nil) {
			t.Errorf("%d %s %q: %q, %v; want %q", tt.id, tt.when, tt.text, said, err, tt.want)
		}
	}
	if len(r.jobs) != 2 || r.jobs[0].Spec.Cron != "0 9 * * *" || r.jobs[0].State != scheduler.JobPaused {
		t.Errorf("reading made %+v", r.jobs)
	}
}
