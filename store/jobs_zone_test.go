package store_test

import (
	"testing"
	"time"

	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/sessions"
	"switchboard/scheduler"
)

// A job whose time zone nobody said moves to the one that its person tells, and so does the person, also where the
// settings, which say none, are read again. Jobs of others, and those with a zone, stay.
func TestAssumedZoneMovesToTheOneThatIsTold(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.people()
		h.whole("c1", "k1") // somebody spoke there
		add := func(owner string, spec scheduler.Spec) *scheduler.Job {
			h.Helper()
			job := scheduler.Job{Owner: owner, Payload: scheduler.PayloadNotify, Text: "stretch", Spec: spec}
			return h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &marcosChat}).Done
		}
		day := time.Now().UTC().Add(72 * time.Hour).Format("2006-01-02")
		once := add("marco", scheduler.Spec{At: day + "T09:00:00", Zone: "UTC", Assumed: true})
		daily := add("marco", scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC", Assumed: true})
		soon := add("marco", scheduler.Spec{At: time.Now().UTC().Add(30 * time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC", Assumed: true})
		said := add("marco", scheduler.Spec{At: day + "T09:00:00", Zone: "UTC"})
		eves := add("eve", scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC", Assumed: true})
		for person, want := range map[string]bool{"marco": true, "nobody": false} {
			if assumes, err := h.Router.Assumes(h.Ctx, person); err != nil || assumes != want {
				t.Errorf("%s: %v, %v", person, assumes, err)
			}
		}
		change := &sessions.Change{Conversation: marcosChat, Of: sessions.TimeZone, To: "Asia/Tokyo", Person: "marco"}
		if err := h.Router.Change(h.Ctx, change, core.Actor{Person: "marco", Rule: audit.RulePeople}); err != nil {
			t.Fatal(err)
		}
		if len(change.Moved) != 3 {
			t.Errorf("moved: %v", change.Moved)
		}
		job := func(was *scheduler.Job) *scheduler.Job {
			h.Helper()
			job, err := h.Router.Job(h.Ctx, was.ID, "")
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		for _, was := range []*scheduler.Job{once, daily} {
			if now := job(was); now.Spec.Zone != "Asia/Tokyo" || now.Spec.Assumed || now.Slot.UTC().Hour() != 0 || now.Due.After(was.Due.Add(15*time.Hour)) {
				t.Errorf("job %d is %+v", was.ID, now)
			}
		}
		if now := job(soon); now.State != scheduler.JobActive || time.Until(now.Due) > time.Minute {
			t.Errorf("what is over there is not due at once: %+v", now)
		}
		for _, was := range []*scheduler.Job{said, eves} {
			if now := job(was); now.Spec != was.Spec || !now.Due.Equal(was.Due) {
				t.Errorf("job %d moved: %+v", was.ID, now)
			}
		}
		h.people() // the settings are read again
		people, err := h.Router.People(h.Ctx)
		for _, p := range people {
			if want := map[string]string{"marco": "Asia/Tokyo"}[p.Name]; p.TimeZone != want {
				t.Errorf("%s is in %q", p.Name, p.TimeZone)
			}
		}
		if assumes, errNow := h.Router.Assumes(h.Ctx, "marco"); err != nil || errNow != nil || assumes {
			t.Errorf("%v, %v, %v", assumes, err, errNow)
		}
	})
}
