package jobs_test

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
	routerpeople "switchboard/router/people"
	"switchboard/scheduler"
	"switchboard/store/database"
	"switchboard/store/people"
	"switchboard/store/storetest"
)

// What became of jobs goes once it is old, and a job that is over after its last run. A job that is
// open keeps its conversation and its owner.
func TestSweepOfJobs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		kept, gone := h.Reminder(storetest.Hourly), h.Reminder(storetest.Hourly)
		h.Exec("UPDATE people SET source = 'open', updated_at = 1 WHERE name = 'marco'")
		for _, job := range []*scheduler.Job{kept, gone} {
			h.Changed(jobs.Change{Kind: jobs.SkipJob, ID: job.ID})
		}
		h.Exec(fmt.Sprintf("INSERT INTO notifications (person, text, created_at, read_at) VALUES ('marco', 'read', %[1]d, %[1]d), ('marco', 'unread', %[1]d, NULL)",
			time.Now().UnixMicro()))
		h.Changed(jobs.Change{Kind: jobs.RemoveJob, ID: gone.ID})
		keep := storetest.KeepADay
		keep.Runs = storetest.Day
		h.Later(storetest.Day / 2)
		h.Sweep(keep)
		if got := h.Counts("jobs", "runs", "notifications"); got != "jobs 2\nruns 2\nnotifications 2\n" {
			t.Errorf("too early: %s", got)
		}
		h.Later(400 * storetest.Day)
		h.Sweep(keep)
		if got := h.Counts("jobs", "runs", "notifications", "conversations", "people"); got != "jobs 1\nruns 0\nnotifications 0\nconversations 1\npeople 2\n" {
			t.Errorf("what is left: %s", got)
		}
		h.Changed(jobs.Change{Kind: jobs.RemoveJob, ID: kept.ID})
		h.Later(402 * storetest.Day)
		h.Sweep(keep)
		if got := h.Counts("jobs", "conversations", "people"); got != "jobs 0\nconversations 0\npeople 1\n" {
			t.Errorf("and after the last job: %s", got)
		}
	})
}

// A job speaks where its conversation has moved to, also where two became one.
func TestJobsFollowMoves(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.People()
		add := func(conv channels.ConversationID) int64 {
			job := scheduler.Job{Owner: "marco", Payload: scheduler.PayloadNotify, Text: "x", Spec: storetest.Hourly}
			return h.Changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &channels.Conversation{Channel: "tg", ID: conv, Kind: channels.Group, Place: string(conv)}}).Done.ID
		}
		in, of := add("old"), add("new")
		h.One(storetest.Moves("old", "new", "1"))
		for _, id := range []int64{in, of} {
			job, err := h.Router.Job(h.Ctx, id, "marco")
			if err != nil || job.Target.Conversation != "new" {
				t.Errorf("%+v, %v", job, err)
			}
		}
		h.WantCount(1, "SELECT count(*) FROM conversations")
	})
}

// Jobs go with the person that somebody becomes; those of who is removed stop, and are nobody's who has
// the name later.
func TestJobsOfPeople(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Reminder(storetest.Hourly)
		person := func(kind routerpeople.ChangeKind, name string) {
			t.Helper()
			if err := h.Router.Change(h.Ctx, &routerpeople.Change{Kind: kind, Person: core.Person{Name: name, Role: core.RoleUser}}, storetest.ByMarco); err != nil {
				t.Fatal(err)
			}
		}
		person(routerpeople.ChangeAdd, "ann")
		person(routerpeople.ChangeAdd, "bob")
		job := scheduler.Job{Owner: "ann", Payload: scheduler.PayloadNotify, Text: "private", Spec: storetest.Hourly}
		id := h.Changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &storetest.MarcosChat}).Done.ID
		h.Exec("INSERT INTO notifications (person, text, created_at) VALUES ('ann', 'private', 1)")
		if err := h.DB.Write(h.Ctx, database.Durable, "join", func(t *database.Tx) error { return people.JoinRows(t, "bob", "ann") }); err != nil {
			t.Fatal(err)
		}
		if job, err := h.Router.Job(h.Ctx, id, "bob"); err != nil || job.State != scheduler.JobActive {
			t.Errorf("joined: %+v, %v", job, err)
		}
		if list, err := h.Router.Notifications(h.Ctx, "bob", 0, 9, true); err != nil || len(list) != 1 {
			t.Errorf("joined: %+v, %v", list, err)
		}
		person(routerpeople.ChangeRemove, "bob")
		if job, err := h.Router.Job(h.Ctx, id, ""); err != nil || job.State != scheduler.JobPaused || job.Reason == "" {
			t.Errorf("removed: %+v, %v", job, err)
		}
		if list, err := h.Router.Notifications(h.Ctx, "bob", 0, 9, true); err != nil || len(list) != 0 {
			t.Errorf("removed: %+v, %v", list, err)
		}
		person(routerpeople.ChangeAdd, "bob")
		if _, err := h.Router.Job(h.Ctx, id, ""); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("of somebody else: %v", err)
		}
		job.Owner = "bob"
		h.Changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &storetest.MarcosChat})
		h.Changed(jobs.Change{Kind: jobs.PauseJob, ID: 1})
		person(routerpeople.ChangeRemove, "bob")
		keep := storetest.KeepADay
		keep.Runs = storetest.Day
		for _, c := range []struct {
			later time.Duration
			left  string
		}{{storetest.Day / 2, "jobs 2\n"}, {2 * storetest.Day, "jobs 1\n"}} { // marco's, which he paused, stays
			h.Later(c.later)
			if h.Sweep(keep); h.Counts("jobs") != c.left {
				t.Errorf("after %s: %s", c.later, h.Counts("jobs"))
			}
		}
	})
}

// A speaker starts runs as messages of ours.
type speaker struct{ *house }

// Start implements scheduler.Starter.
func (s speaker) Start(ctx context.Context, due scheduler.DueRun) (scheduler.NotStarted, error) {
	work := jobs.Submission{Key: due.Run.Key(), Person: "marco", To: storetest.MarcosChat, Say: true, Text: "x", Run: due.Run.ID, Try: due.Run.Try}
	_, err := s.Router.Submit(ctx, s.Owner(), work, intake.TurnIntent{}, storetest.Text("x"))
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
		h.DB.Now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		job := h.Reminder(scheduler.Spec{Every: 10 * time.Minute, Anchor: time.Now().Truncate(10 * time.Minute), Zone: "UTC"})
		limited := h.Reminder(scheduler.Spec{Every: 10 * time.Minute, Anchor: time.Now().Truncate(10 * time.Minute), Zone: "UTC", Most: 9})
		deps := scheduler.Deps{
			Store: h.Work(), Starter: speaker{h}, Teller: speaker{h}, Log: slog.New(slog.NewTextHandler(&log, nil)), Channels: func() []string { return storetest.OfTG.Channels },
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
