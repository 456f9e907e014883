package store_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store/storetest"
)

// A mute starts nothing while it is broken.
type mute struct {
	speaker
	broken atomic.Bool
}

// Start implements scheduler.Starter.
func (m *mute) Start(ctx context.Context, due scheduler.DueRun) (scheduler.NotStarted, error) {
	if m.broken.Load() {
		return scheduler.NotStarted{}, errors.New("nothing can be started")
	}
	return m.speaker.Start(ctx, due)
}

// A clock that was ahead is set back while runs wait to start: they do not wait until it gets there again, and have their
// jobs wait for them. What comes once waits for its time.
func TestClockSetBackWhileRunsWait(t *testing.T) {
	t.Parallel()
	storetest.SQLite(t) // what a process makes once is made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, storetest.SQLite(t))
		var off atomic.Int64
		h.DB.SetNow(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
		begun, starter := time.Now(), &mute{speaker: speaker{h}}
		again := h.reminder(scheduler.Spec{Every: 10 * time.Minute, Anchor: begun.Truncate(10 * time.Minute), Zone: "UTC"})
		once := h.reminder(scheduler.Spec{At: begun.UTC().Add(12 * time.Hour).Format("2006-01-02T15:04:05"), Zone: "UTC"})
		runFor := func(d time.Duration) {
			ctx, stop := context.WithTimeout(h.Ctx, d)
			defer stop()
			scheduler.New(scheduler.Deps{
				Store: h.work(), Starter: starter, Teller: starter, Log: slog.New(slog.DiscardHandler), Channels: func() []string { return ofTG.Channels },
				Settings: func() scheduler.Settings {
					return scheduler.Settings{Enabled: true, Defaults: scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour}}
				},
			}).Run(ctx)
		}
		runFor(21 * time.Minute)
		off.Store(int64(24 * time.Hour))
		starter.broken.Store(true)
		runFor(20 * time.Second)
		off.Store(0)
		starter.broken.Store(false)
		runFor(3 * time.Hour)
		counts := map[scheduler.RunState]int{}
		runs, err := h.Router.Runs(h.Ctx, again.ID, 0, 100)
		for _, r := range runs {
			counts[r.State]++
		}
		if err != nil || counts[scheduler.RunDone] != 20 || counts[scheduler.RunMissed] != 1 || len(runs) != 21 { // 00:30 is in the row of what was missed
			t.Errorf("of what comes again: %v, %v", counts, err)
		}
		if err := h.Router.Change(h.Ctx, &jobs.Change{Kind: jobs.RunJob, ID: again.ID}, byMarco); err != nil {
			t.Error(err)
		}
		if runs, err := h.Router.Runs(h.Ctx, once.ID, 0, 9); err != nil || len(runs) != 1 || runs[0].State != scheduler.RunDue || !runs[0].StartAt.Equal(begun.Add(12*time.Hour)) {
			t.Errorf("of what comes once: %+v, %v", runs, err)
		}
	})
}

// Runs that would start too late are brought back to the pause before their try.
func TestStartBy(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		now := time.Now().Truncate(time.Microsecond)
		var want []string
		by := []time.Time{now, now.Add(time.Minute)}
		for _, c := range []struct {
			try               int
			start, slot, want time.Duration
			state             scheduler.JobState
		}{
			{1, -time.Hour, 0, -time.Hour, scheduler.JobActive},
			{1, time.Hour, 0, 0, scheduler.JobActive},
			{1, 2 * time.Hour, time.Hour, 0, scheduler.JobActive},
			{2, 30 * time.Second, 0, 30 * time.Second, scheduler.JobActive},
			{2, time.Hour, 0, time.Minute, scheduler.JobActive},
			{1, 2 * time.Hour, -time.Hour, 0, scheduler.JobDone},
			{1, 2 * time.Hour, time.Hour, time.Hour, scheduler.JobDone},
		} {
			job := h.reminder(hourly)
			id := nameOf(h.changed(jobs.Change{Kind: jobs.RunJob, ID: job.ID}).Run)
			micros := func(d time.Duration) string { return nameOf(now.Add(d).UnixMicro()) }
			h.write("UPDATE runs SET try = "+nameOf(int64(c.try))+", start_at = "+micros(c.start)+", slot = "+micros(c.slot)+" WHERE id = "+id,
				"UPDATE jobs SET state = '"+string(c.state)+"' WHERE id = "+nameOf(job.ID))
			want = append(want, "id = "+id+" AND start_at = "+micros(c.want))
		}
		if err := h.work().StartBy(h.Ctx, by); err != nil {
			t.Fatal(err)
		}
		for _, where := range want {
			h.wantCount(1, "SELECT count(*) FROM runs WHERE "+where)
		}
	})
}
