package store_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/scheduler"
)

// rightsJobs makes jobs of ann: 1 her reminder, 2 a task that ran nothing of an admin's, 3 one that ran a command,
// 4 one that used a tool of admins, 5 a message to a group, 6 a heartbeat with a checklist of hers, and 7 a task
// that ran a command and that she paused.
func (h *house) rightsJobs() {
	h.Helper()
	for _, job := range []scheduler.Job{
		{Payload: scheduler.PayloadNotify},
		{Payload: scheduler.PayloadAgent},
		{Payload: scheduler.PayloadAgent},
		{Payload: scheduler.PayloadAgent},
		{Payload: scheduler.PayloadSend},
		{Payload: scheduler.PayloadHeartbeat, Rules: scheduler.Rules{File: "x.md", FileBy: "ann"}},
		{Payload: scheduler.PayloadAgent},
	} {
		job.Owner, job.Text, job.Spec = "ann", "private", hourly
		target := marcosChat
		if job.Payload == scheduler.PayloadSend {
			target.ID, target.Kind = "club", "group"
		}
		h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &target})
	}
	h.changed(jobs.Change{Kind: jobs.PauseJob, ID: 7})
	for i, tool := range []string{"", "", "http.get", "exec", "host.info", "", "", "exec"} {
		if tool == "" {
			continue
		}
		kind, named := "tool", "'"+tool+"'"
		if tool == "exec" {
			kind, named = "exec", "NULL"
		}
		ref := h.whole("c", fmt.Sprint("run", i))
		h.write(fmt.Sprintf("INSERT INTO runs (job_id, slot, state, turn_id, created_at) VALUES (%d, 1, 'done', %d, 1)", i, ref.TurnID),
			fmt.Sprintf("UPDATE tasks SET type = '%s', tool = %s WHERE turn_id = %d", kind, named, ref.TurnID))
	}
}

// stopped are the jobs that are not active, with why.
func (h *house) stopped() string {
	h.Helper()
	list, err := h.Router.Jobs(h.Ctx, "ann", 0, 10)
	if err != nil {
		h.Fatal(err)
	}
	var said []string
	for _, j := range list {
		if j.State != scheduler.JobActive {
			said = append(said, fmt.Sprintf("%d %s %s", j.ID, j.State, j.Reason))
		}
	}
	return strings.Join(said, "; ")
}

// Of somebody who is no admin any more those jobs are paused that need an admin's rights, and no others,
// whoever says it: an admin, or the settings, also of who was away.
func TestJobsWithoutTheirRightsArePaused(t *testing.T) {
	const why = " paused rights: its owner is no admin any more"
	admin, user, execs := ann, ann, ann
	admin.Role = core.RoleAdmin
	execs.Tools = []string{"*", "exec"}
	for name, lose := range map[string]func(h *house) (paused []int64, want string, err error){
		"by an admin": func(h *house) ([]int64, string, error) {
			local := admin
			local.Source = core.FromLocal
			h.named(local, root)
			c := change(people.ChangeRole, "ann", core.RoleUser)
			err := h.Router.Change(h.Ctx, c, people.LocalActor("owner"))
			return c.Paused, "[3 4 5 6]", err
		},
		"by the settings": func(h *house) ([]int64, string, error) {
			set, err := h.Router.SetPeople(h.Ctx, []core.Person{user, root})
			return set.Paused["ann"], "[3 4 5 6]", err
		},
		"with exec in her tools": func(h *house) ([]int64, string, error) {
			set, err := h.Router.SetPeople(h.Ctx, []core.Person{execs, root})
			return set.Paused["ann"], "[4 5 6]", err
		},
		"while away": func(h *house) ([]int64, string, error) {
			h.named(root)
			set, err := h.Router.SetPeople(h.Ctx, []core.Person{user, root})
			return set.Paused["ann"], "[3 4 5 6]", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				h.named(admin, root)
				h.rightsJobs()
				paused, want, err := lose(h)
				if fmt.Sprint(paused) != want || err != nil {
					t.Errorf("paused are %v, not %s: %v", paused, want, err)
				}
				said := strings.NewReplacer("[", "", "]", why, " ", why+"; ").Replace(want) + "; 7 paused "
				if got := h.stopped(); got != said {
					t.Errorf("stopped are %q, not %q", got, said)
				}
				h.changed(jobs.Change{Kind: jobs.ResumeJob, ID: 4}) // with the rights that she has
				if set, err := h.Router.SetPeople(h.Ctx, []core.Person{user, root}); err != nil || len(set.Paused) > 0 {
					t.Errorf("paused again: %v, %v", set.Paused, err)
				}
			})
		})
	}
}

// A removal says which jobs stopped.
func TestRemovalNamesTheJobsThatStop(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.named(ann, root)
		h.jobOf("ann")
		h.jobOf("ann")
		h.changed(jobs.Change{Kind: jobs.PauseJob, ID: 2})
		h.named(root)
		c := change(people.ChangeRemove, "ann", "")
		if err := h.Router.Change(h.Ctx, c, people.LocalActor("owner")); err != nil || fmt.Sprint(c.Paused) != "[1]" {
			t.Errorf("%v: %v", c.Paused, err)
		}
	})
}
