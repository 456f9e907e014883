package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/core"
	routerjobs "switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/jobs"
)

var marcosChat = channels.Conversation{Channel: "tg", ID: "c1", Kind: channels.Direct, Place: "c1"}

var byMarco = core.Actor{Person: "marco", Rule: "test"}

// changed makes a change of a job.
func (h *house) changed(c routerjobs.Change) *routerjobs.Change {
	h.Helper()
	if err := h.Router.Change(h.Ctx, &c, byMarco); err != nil {
		h.Fatalf("%s job %d: %v", c.Kind, c.ID, err)
	}
	return &c
}

// reminder adds a job of marco's, who is somebody.
func (h *house) reminder(spec scheduler.Spec) *scheduler.Job {
	h.Helper()
	h.people()
	job := scheduler.Job{Owner: "marco", Payload: scheduler.PayloadNotify, Text: "stretch", Spec: spec}
	return h.changed(routerjobs.Change{Kind: routerjobs.AddJob, Job: &job, Target: &marcosChat}).Done
}

func (h *house) people() {
	h.Helper()
	if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "marco", Role: core.RoleAdmin}, {Name: "eve", Role: core.RoleUser}}); err != nil {
		h.Fatal(err)
	}
}

// work is the scheduler's view.
func (h *house) work() *jobs.Scheduler { return h.DB.Scheduler(h.owner()) }

// due has the jobs' next slot have come this long ago.
func (h *house) due(ago time.Duration) {
	h.Helper()
	at := nameOf(h.clock().Add(-ago).UnixMicro())
	h.write("UPDATE jobs SET slot = " + at + ", due_at = " + at + " WHERE state = 'active' AND due_at > 0")
}

func (h *house) clock() time.Time { return time.Now() }

var ofTG = scheduler.Reach{Channels: []string{"tg"}}

var hourly = scheduler.Spec{Every: time.Hour, Zone: "UTC"}

func TestJobsAreMadeAndChanged(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		job := h.reminder(hourly)
		if job.ID == 0 || job.State != scheduler.JobActive || job.Slot.IsZero() || job.Target != (scheduler.Target{Channel: "tg", Conversation: "c1"}) {
			t.Errorf("added: %+v", job)
		}
		edit := *job
		edit.Text, edit.Spec = "walk", scheduler.Spec{Every: 2 * time.Hour, Zone: "Europe/Rome"}
		got := h.changed(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Of: "marco", Job: &edit}).Done
		if got.Text != "walk" || got.Spec.Zone != "Europe/Rome" || got.Version <= job.Version || !got.Slot.After(job.Slot) || got.Target != job.Target {
			t.Errorf("edited: %+v", got)
		}
		if got = h.changed(routerjobs.Change{Kind: routerjobs.PauseJob, ID: job.ID}).Done; got.State != scheduler.JobPaused {
			t.Errorf("paused: %+v", got)
		}
		if got = h.changed(routerjobs.Change{Kind: routerjobs.ResumeJob, ID: job.ID}).Done; got.State != scheduler.JobActive || got.Slot.IsZero() {
			t.Errorf("resumed: %+v", got)
		}
		next := got.Slot
		if got = h.changed(routerjobs.Change{Kind: routerjobs.SkipJob, ID: job.ID}).Done; !got.Slot.Equal(next.Add(2 * time.Hour)) {
			t.Errorf("skipped: %+v", got)
		}
		until := time.Now().Add(10 * time.Minute).Truncate(time.Second)
		later := h.changed(routerjobs.Change{Kind: routerjobs.SnoozeJob, ID: job.ID, Of: "marco", Until: until}).Done
		if later.ID == job.ID || !later.Slot.Equal(until) || later.Text != "walk" || later.Target != job.Target || later.Owner != "marco" {
			t.Errorf("snoozed: %+v", later)
		}
		c := h.changed(routerjobs.Change{Kind: routerjobs.RunJob, ID: job.ID})
		h.changed(routerjobs.Change{Kind: routerjobs.RemoveJob, ID: job.ID})
		runs, err := h.Router.Runs(h.Ctx, job.ID, 0, 10)
		if err != nil || len(runs) != 2 || runs[0].ID != c.Run || runs[0].State != scheduler.RunSkipped || runs[0].Reason != "removed" || runs[1].Reason != "asked" {
			t.Errorf("its history: %+v, %v", runs, err)
		}
		list, err := h.Router.Jobs(h.Ctx, "marco", 0, 10)
		if err != nil || len(list) != 1 || list[0].ID != later.ID {
			t.Errorf("what is left: %+v, %v", list, err)
		}
		audit, err := h.Router.Audit(h.Ctx, audit.Filter{}, 0, 20)
		if n := len(audit); err != nil || n < 8 || audit[0].Action != "job.remove" || audit[0].Person != "marco" {
			t.Errorf("audit: %+v, %v", audit, err)
		}
	})
}

// Only a new time has a slot come after all that was skipped.
func TestAnEditBringsBackNoSlot(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		once := scheduler.Spec{At: h.clock().Add(time.Hour).UTC().Format("2006-01-02T15:04:05"), Zone: "UTC"}
		for _, c := range []struct {
			spec  scheduler.Spec
			state scheduler.JobState
		}{{once, scheduler.JobDone}, {hourly, scheduler.JobActive}} {
			job := h.reminder(c.spec)
			left := job.Slot
			job = h.changed(routerjobs.Change{Kind: routerjobs.SkipJob, ID: job.ID}).Done
			next := job.Slot
			edited := func(newTime bool, set func(*scheduler.Spec)) {
				t.Helper()
				set(&job.Spec)
				job = h.changed(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: job, NewTime: newTime}).Done
			}
			for _, until := range []time.Time{{}, left.Add(48 * time.Hour)} {
				if edited(false, func(s *scheduler.Spec) {
					if s.Jitter = 3 * time.Second; s.At == "" {
						s.Until = until
					}
				}); job.State != c.state || !job.Slot.Equal(next) {
					t.Errorf("%+v: next %s, not %s", job, job.Slot, next)
				}
			}
			if c.state == scheduler.JobActive {
				h.changed(routerjobs.Change{Kind: routerjobs.PauseJob, ID: job.ID})
				if job = h.changed(routerjobs.Change{Kind: routerjobs.ResumeJob, ID: job.ID}).Done; !job.Slot.Equal(next) {
					t.Errorf("resumed: next %s, not %s", job.Slot, next)
				}
			}
			skipped := fmt.Sprintf("SELECT count(*) FROM runs WHERE job_id = %d AND reason = 'asked'", job.ID)
			h.wantCount(1, skipped)
			if edited(true, func(s *scheduler.Spec) { s.Jitter = 0 }); job.State != scheduler.JobActive || !job.Slot.Equal(left) {
				t.Errorf("a new time: %+v", job)
			}
			h.wantCount(0, skipped)
		}
	})
}

func TestJobChangesThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		job := h.reminder(hourly)
		refused := func(c routerjobs.Change, why string) {
			t.Helper()
			err := h.Router.Change(h.Ctx, &c, byMarco)
			if no, ok := errors.AsType[*core.StateError](err); !ok || !strings.Contains(no.Sentence, why) {
				t.Errorf("%s: %v", c.Kind, err)
			}
		}
		add := func(change func(*scheduler.Job)) routerjobs.Change {
			j := scheduler.Job{Owner: "marco", Payload: scheduler.PayloadNotify, Text: "x", Spec: hourly}
			change(&j)
			return routerjobs.Change{Kind: routerjobs.AddJob, Job: &j, Target: &marcosChat}
		}
		nowhere := add(func(*scheduler.Job) {})
		nowhere.Target = nil
		refused(nowhere, "needs a chat")
		refused(add(func(j *scheduler.Job) { j.Owner = "nobody" }), "Nobody here is called nobody")
		refused(add(func(j *scheduler.Job) { j.Spec.Zone = "Mars/Base" }), "Mars/Base")
		refused(add(func(j *scheduler.Job) { j.Spec = scheduler.Spec{At: "2020-01-01T09:00:00", Zone: "UTC"} }), "has passed")
		refused(routerjobs.Change{Kind: routerjobs.ResumeJob, ID: job.ID}, "not paused")
		h.changed(routerjobs.Change{Kind: routerjobs.RunJob, ID: job.ID})
		refused(routerjobs.Change{Kind: routerjobs.RunJob, ID: job.ID}, "is running")
		h.changed(routerjobs.Change{Kind: routerjobs.PauseJob, ID: job.ID})
		refused(routerjobs.Change{Kind: routerjobs.PauseJob, ID: job.ID}, "paused already")
		refused(routerjobs.Change{Kind: routerjobs.SkipJob, ID: job.ID}, "paused")
		h.changed(routerjobs.Change{Kind: routerjobs.ResumeJob, ID: job.ID})
		one, err := h.Router.Job(h.Ctx, job.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		few := *one
		few.Spec.Most = 5
		h.write("UPDATE jobs SET runs = 7")
		refused(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: &few, NewTime: true}, "has run 7 times, and this allows 5")
		other := *one // two look at it, and change it
		one.Spec, other.Text = scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC"}, "walk"
		h.changed(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: one, NewTime: true})
		refused(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: &other}, "was changed meanwhile")
		if now, err := h.Router.Job(h.Ctx, job.ID, ""); err != nil || now.Spec != one.Spec || now.Text != "stretch" {
			t.Errorf("after an edit that came too late: %+v, %v", now, err)
		}
		one.Version++
		one.Rules.Overlap = scheduler.OverlapAllow
		h.changed(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: one})
		for i := range scheduler.MostOpen {
			h.write(fmt.Sprintf("INSERT INTO runs (job_id, slot, state, created_at) VALUES (%d, %d, 'due', 1)", job.ID, i+1))
		}
		refused(routerjobs.Change{Kind: routerjobs.RunJob, ID: job.ID}, "has 100 runs that have not ended")
		for _, c := range []routerjobs.Change{
			{Kind: routerjobs.PauseJob, ID: job.ID, Of: "eve"}, {Kind: routerjobs.RemoveJob, ID: 999},
		} {
			if err := h.Router.Change(h.Ctx, &c, byMarco); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		h.changed(routerjobs.Change{Kind: routerjobs.RemoveJob, ID: job.ID})
		if err := h.Router.Change(h.Ctx, &routerjobs.Change{Kind: routerjobs.ResumeJob, ID: job.ID}, byMarco); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("resume what is removed: %v", err)
		}
	})
}

// A slot is claimed once, whoever tries, and runs are settled once.
func TestASlotIsClaimedOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		job := h.reminder(hourly)
		h.due(time.Second)
		jobs, now, _, err := h.work().DueJobs(h.Ctx, 10, ofTG)
		if err != nil || len(jobs) != 1 || jobs[0].Job.ID != job.ID {
			t.Fatalf("due: %+v, %v", jobs, err)
		}
		claim := []scheduler.Claim{scheduler.Decide(jobs[0].Job, now, jobs[0].Open, scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour})}
		// Whoever read it before it was changed claims nothing.
		h.changed(routerjobs.Change{Kind: routerjobs.EditJob, ID: job.ID, Job: &jobs[0].Job})
		if err := h.work().Claim(h.Ctx, claim); err != nil {
			t.Fatal(err)
		}
		h.wantCount(0, "SELECT count(*) FROM runs")
		claim[0].Job.Version++
		for range 3 {
			if err := h.work().Claim(h.Ctx, claim); err != nil {
				t.Fatal(err)
			}
		}
		h.wantCount(1, "SELECT count(*) FROM runs WHERE state = 'due'")
		runs, _, err := h.work().DueRuns(h.Ctx, 10, ofTG)
		if err != nil || len(runs) != 1 || runs[0].Job.Text != "stretch" || runs[0].Run.Try != 1 {
			t.Fatalf("due runs: %+v, %v", runs, err)
		}
		if more, _, next, err := h.work().DueJobs(h.Ctx, 10, ofTG); err != nil || len(more) != 0 || !next.Equal(claim[0].Due) {
			t.Errorf("after it: %+v, next %s, %v", more, next, err)
		}
		// Its try failed: there is one new try, whoever settles it.
		again := scheduler.Settled{Run: runs[0].Run, State: scheduler.RunDue, Reason: "retry: x", RetryAt: now.Add(-time.Second)}
		for range 2 {
			if err := h.work().Settle(h.Ctx, []scheduler.Settled{again}); err != nil {
				t.Fatal(err)
			}
		}
		if runs, _, err = h.work().DueRuns(h.Ctx, 10, ofTG); err != nil || len(runs) != 1 || runs[0].Run.Try != 2 {
			t.Errorf("tried again: %+v, %v", runs, err)
		}
	})
}

// A run that fails while its job was paused or removed is not tried again.
func TestNothingOfAPausedJobIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		job := h.reminder(hourly)
		h.changed(routerjobs.Change{Kind: routerjobs.RunJob, ID: job.ID})
		runs, _, err := h.work().DueRuns(h.Ctx, 10, ofTG)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v, %v", runs, err)
		}
		if ok, err := h.work().Begin(h.Ctx, runs[0].Run); !ok || err != nil {
			t.Fatalf("begin: %v, %v", ok, err)
		}
		h.changed(routerjobs.Change{Kind: routerjobs.PauseJob, ID: job.ID})
		run := runs[0].Run
		run.State = scheduler.RunRunning
		if err := h.work().Settle(h.Ctx, []scheduler.Settled{{Run: run, State: scheduler.RunDue, Reason: "retry: x", RetryAt: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		list, err := h.Router.Runs(h.Ctx, job.ID, 0, 10)
		if err != nil || len(list) != 1 || list[0].State != scheduler.RunFailed || list[0].Finished.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// Each query of the scheduler goes through an index, so that it is as fast with a million jobs as with none.
func TestDueJobsAreFoundByIndex(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, query := range store.DueQueries() {
			plan, err := h.DB.Plan(h.Ctx, query)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, line := range plan {
				if strings.Contains(line, "Seq Scan") || h.DB.Kind() == "sqlite" && strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "INDEX") && line != "SCAN CONSTANT ROW" ||
					strings.Contains(line, "TEMP B-TREE") && name != "maintenance due" {
					t.Errorf("%s:\n%s", name, strings.Join(plan, "\n"))
					break
				}
			}
		}
	})
}
