package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/scheduler"
	"switchboard/store/storetest"
)

// What became of jobs goes once it is old, and a job that is over after its last run. A job that is
// open keeps its conversation and its owner.
func TestSweepOfJobs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		kept, gone := h.reminder(hourly), h.reminder(hourly)
		h.write("UPDATE people SET source = 'open', updated_at = 1 WHERE name = 'marco'")
		for _, job := range []*scheduler.Job{kept, gone} {
			h.changed(jobs.Change{Kind: jobs.SkipJob, ID: job.ID})
		}
		h.write(fmt.Sprintf("INSERT INTO notifications (person, text, created_at, read_at) VALUES ('marco', 'read', %[1]d, %[1]d), ('marco', 'unread', %[1]d, NULL)",
			time.Now().UnixMicro()))
		h.changed(jobs.Change{Kind: jobs.RemoveJob, ID: gone.ID})
		keep := keepADay
		keep.Runs = day
		h.later(day / 2)
		h.sweep(keep)
		if got := h.counts("jobs", "runs", "notifications"); got != "jobs 2\nruns 2\nnotifications 2\n" {
			t.Errorf("too early: %s", got)
		}
		h.later(400 * day)
		h.sweep(keep)
		if got := h.counts("jobs", "runs", "notifications", "conversations", "people"); got != "jobs 1\nruns 0\nnotifications 0\nconversations 1\npeople 2\n" {
			t.Errorf("what is left: %s", got)
		}
		h.changed(jobs.Change{Kind: jobs.RemoveJob, ID: kept.ID})
		h.later(402 * day)
		h.sweep(keep)
		if got := h.counts("jobs", "conversations", "people"); got != "jobs 0\nconversations 0\npeople 1\n" {
			t.Errorf("and after the last job: %s", got)
		}
	})
}

// A job speaks where its conversation has moved to, also where two became one.
func TestJobsFollowMoves(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.people()
		add := func(conv channels.ConversationID) int64 {
			job := scheduler.Job{Owner: "marco", Payload: scheduler.PayloadNotify, Text: "x", Spec: hourly}
			return h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &channels.Conversation{Channel: "tg", ID: conv, Kind: channels.Group, Place: string(conv)}}).Done.ID
		}
		in, of := add("old"), add("new")
		h.one(moves("old", "new", "1"))
		for _, id := range []int64{in, of} {
			job, err := h.Router.Job(h.Ctx, id, "marco")
			if err != nil || job.Target.Conversation != "new" {
				t.Errorf("%+v, %v", job, err)
			}
		}
		h.wantCount(1, "SELECT count(*) FROM conversations")
	})
}

// Jobs go with the person that somebody becomes; those of who is removed stop, and are nobody's who has
// the name later.
func TestJobsOfPeople(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.reminder(hourly)
		person := func(kind people.ChangeKind, name string) {
			t.Helper()
			if err := h.Router.Change(h.Ctx, &people.Change{Kind: kind, Person: core.Person{Name: name, Role: core.RoleUser}}, byMarco); err != nil {
				t.Fatal(err)
			}
		}
		person(people.ChangeAdd, "ann")
		person(people.ChangeAdd, "bob")
		job := scheduler.Job{Owner: "ann", Payload: scheduler.PayloadNotify, Text: "private", Spec: hourly}
		id := h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &marcosChat}).Done.ID
		h.write("INSERT INTO notifications (person, text, created_at) VALUES ('ann', 'private', 1)")
		if err := h.Router.Join(h.Ctx, "bob", "ann"); err != nil {
			t.Fatal(err)
		}
		if job, err := h.Router.Job(h.Ctx, id, "bob"); err != nil || job.State != scheduler.JobActive {
			t.Errorf("joined: %+v, %v", job, err)
		}
		if list, err := h.Router.Notifications(h.Ctx, "bob", 0, 9, true); err != nil || len(list) != 1 {
			t.Errorf("joined: %+v, %v", list, err)
		}
		person(people.ChangeRemove, "bob")
		if job, err := h.Router.Job(h.Ctx, id, ""); err != nil || job.State != scheduler.JobPaused || job.Reason == "" {
			t.Errorf("removed: %+v, %v", job, err)
		}
		if list, err := h.Router.Notifications(h.Ctx, "bob", 0, 9, true); err != nil || len(list) != 0 {
			t.Errorf("removed: %+v, %v", list, err)
		}
		person(people.ChangeAdd, "bob")
		if _, err := h.Router.Job(h.Ctx, id, ""); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("of somebody else: %v", err)
		}
		job.Owner = "bob"
		h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &marcosChat})
		h.changed(jobs.Change{Kind: jobs.PauseJob, ID: 1})
		person(people.ChangeRemove, "bob")
		keep := keepADay
		keep.Runs = day
		for _, c := range []struct {
			later time.Duration
			left  string
		}{{day / 2, "jobs 2\n"}, {2 * day, "jobs 1\n"}} { // marco's, which he paused, stays
			h.later(c.later)
			if h.sweep(keep); h.counts("jobs") != c.left {
				t.Errorf("after %s: %s", c.later, h.counts("jobs"))
			}
		}
	})
}

// A speaker starts runs as messages of ours.
type speaker struct{ *house }

// Start implements scheduler.Starter.
func (s speaker) Start(ctx context.Context, due scheduler.DueRun) (scheduler.NotStarted, error) {
	work := jobs.Submission{Key: due.Run.Key(), Person: "marco", To: marcosChat, Say: true, Text: "x", Run: due.Run.ID, Try: due.Run.Try}
	_, err := s.Router.Submit(ctx, s.owner(), work, intake.TurnIntent{}, text("x"))
	return scheduler.NotStarted{}, err
}

// Tell implements scheduler.Teller.
func (speaker) Tell(context.Context, string, string, string, ...int64) (bool, error) {
	return false, nil
}

// Warn implements scheduler.Teller.
func (speaker) Warn(context.Context, scheduler.Job, string) {}

// The clock goes ahead and is set back, while the scheduler runs and while it does not: the log says so, what passed is
// missed, no slot runs twice, and what comes again does so at its times.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	storetest.SQLite(t) // what a process makes once is made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, storetest.SQLite(t))
		var off atomic.Int64
		var log testkit.Log
		h.DB.SetNow(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
		job := h.reminder(scheduler.Spec{Every: 10 * time.Minute, Anchor: time.Now().Truncate(10 * time.Minute), Zone: "UTC"})
		limited := h.reminder(scheduler.Spec{Every: 10 * time.Minute, Anchor: time.Now().Truncate(10 * time.Minute), Zone: "UTC", Most: 9})
		deps := scheduler.Deps{
			Store: h.work(), Starter: speaker{h}, Teller: speaker{h}, Log: slog.New(slog.NewTextHandler(&log, nil)), Channels: func() []string { return ofTG.Channels },
			Settings: func() scheduler.Settings {
				return scheduler.Settings{Enabled: true, Defaults: scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour}}
			},
		}
		history := func(id int64) (list []string) {
			t.Helper()
			runs, err := h.Router.Runs(h.Ctx, id, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range slices.Backward(runs) {
				list = append(list, string(r.State)+" "+r.Slot.Format("15:04"))
				if r.State == scheduler.RunMissed {
					list[len(list)-1] += "-" + r.Last.Format("15:04")
				}
			}
			return list
		}
		for _, step := range []struct {
			off, wait time.Duration
			again     bool // by a scheduler that did not see the jump
			want      string
		}{
			{0, 21 * time.Minute, false, "done 00:10, done 00:20"},
			{time.Hour, 10 * time.Minute, false, "missed 00:30-01:10, done 01:20, done 01:30"},
			{0, 30 * time.Minute, false, "done 00:40, done 00:50, done 01:00"}, // 00:30 is in a row of what was missed
			{0, 35 * time.Minute, false, "done 01:10"},
			{3 * time.Hour, time.Minute, false, "missed 01:40-04:20, done 04:30"},
			{0, 20 * time.Minute, true, "done 01:50"},
			{-15 * time.Minute, 40 * time.Minute, false, "done 02:00, done 02:10, done 02:20"},
		} {
			before := len(history(job.ID))
			if step.again {
				off.Store(int64(step.off))
			}
			ctx, stop := context.WithTimeout(h.Ctx, step.wait)
			go func() {
				time.Sleep(5 * time.Second)
				off.Store(int64(step.off))
			}()
			scheduler.New(deps).Run(ctx)
			stop()
			if got := strings.Join(history(job.ID)[before:], ", "); got != step.want {
				t.Errorf("%s off for %s: %s; want %s", step.off, step.wait, got, step.want)
			}
		}
		if n := log.Count("the clock jumped"); n != 4 {
			t.Errorf("the log says %d times that the clock jumped", n)
		}
		if job, err := h.Router.Job(h.Ctx, limited.ID, ""); err != nil || job.Runs > 9 {
			t.Errorf("%+v, %v: %v", job, err, history(limited.ID))
		}
	})
}
