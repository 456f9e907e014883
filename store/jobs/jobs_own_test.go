package jobs_test

import (
	"sync"
	"testing"
	"time"

	"switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store/storetest"
)

func TestOwnJobsAreThereOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		keep := func(list ...scheduler.Job) {
			t.Helper()
			if err := h.Router.KeepOwn(h.Ctx, append(scheduler.Maintenance(), list...)); err != nil {
				t.Fatal(err)
			}
		}
		count := func(where string) (n int64) {
			t.Helper()
			n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM jobs WHERE "+where)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		beat := func(hours string, to scheduler.Target) scheduler.Job {
			return jobs.SystemJob(30*time.Minute, hours, "Europe/Rome", "list.md", to)
		}
		var all sync.WaitGroup // engines that start at once
		for range 4 {
			all.Go(func() { keep(beat("", scheduler.Target{})) })
		}
		all.Wait()
		if n := count("owner = '' AND state = 'active' AND slot > 0 AND due_at = slot"); n != int64(len(scheduler.Maintenance()))+1 {
			t.Errorf("%d jobs", n)
		}

		// What an admin did to them stays.
		h.Exec("UPDATE jobs SET state = 'paused', spec = '{\"cron\":\"1 1 * * *\",\"zone\":\"UTC\"}', version = 7 WHERE name = 'files'")
		keep(beat("", scheduler.Target{}))
		if n := count("version = 7 AND state = 'paused'"); n != 1 || count("version > 1") != 1 {
			t.Error("it was changed, though nothing had")
		}

		// One that failed too often begins again.
		h.Exec("UPDATE jobs SET state = 'disabled', failures = 10 WHERE name = 'audit'")
		keep(beat("", scheduler.Target{}))
		if n := count("name = 'audit' AND state = 'active' AND failures = 0"); n != 1 {
			t.Error("what was disabled stays so")
		}

		// The heartbeat follows the settings.
		keep(beat("08:00-22:00", scheduler.Target{Channel: "tg", Conversation: "c1"}))
		if n := count("name = 'heartbeat' AND state = 'active' AND version = 2 AND conversation_id = (SELECT id FROM conversations WHERE conversation = 'c1')"); n != 1 {
			t.Error("the heartbeat is not as the settings say")
		}
		h.Exec("INSERT INTO runs (job_id, slot, state, created_at) SELECT id, 5, 'due', 1 FROM jobs WHERE name = 'heartbeat'")
		keep()
		keep()
		if n := count("name = 'heartbeat' AND state = 'removed' AND version = 3 AND due_at = 0"); n != 1 {
			t.Error("the heartbeat is not off")
		}
		if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM runs WHERE state = 'due'"); n != 0 || err != nil {
			t.Errorf("%d runs of it are due, %v", n, err)
		}
		keep(beat("", scheduler.Target{}))
		if n := count("name = 'heartbeat' AND state = 'active' AND due_at > 0 AND conversation_id IS NULL"); n != 1 {
			t.Error("the heartbeat is not on again")
		}

		// Without channels an engine does maintenance alone; the heartbeat that speaks nowhere in particular is any other's.
		h.Exec("UPDATE jobs SET due_at = 1")
		for channels, want := range map[string]int{"": 5, "tg": 6} { // one is paused
			reach := scheduler.Reach{}
			if channels != "" {
				reach.Channels = []string{channels}
			}
			due, _, _, err := h.DB.Scheduler(h.Owner()).DueJobs(h.Ctx, 100, reach)
			if err != nil || len(due) != want {
				t.Errorf("due with the channels %q: %d, %v", channels, len(due), err)
			}
		}
	})
}
