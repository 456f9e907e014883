package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/storetest"
)

// A rig is a scheduler over a real store. Its starter puts runs into the database as the router does.
type rig struct {
	*storetest.House
	log     testkit.Log
	set     scheduler.Settings
	fault   func(run scheduler.DueRun) error // before a start
	after   func(run scheduler.DueRun) error // after it
	not     func(run scheduler.DueRun) scheduler.NotStarted
	upkeep  func(ctx context.Context, job *scheduler.Job) (scheduler.Maintained, error)
	serves  []string // channels
	looks   atomic.Int64
	mu      sync.Mutex
	told    []string
	warned  []string
	started map[string]int // tries that were started, by their key
}

var chat = channels.Conversation{Channel: "tg", ID: "c1", Kind: channels.Direct, Place: "c1"}

func newRig(t testing.TB, db *store.DB) *rig {
	r := &rig{
		House: storetest.NewHouse(t, db), started: map[string]int{}, serves: []string{"tg"},
		set: scheduler.Settings{Enabled: true, Defaults: scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour}},
	}
	if _, err := r.Router.SetPeople(r.Ctx, []core.Person{{Name: "marco", Role: core.RoleAdmin}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// inBubble runs a test on SQLite with the clock of a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	storetest.SQLite(t) // what a process makes once is made outside
	synctest.Test(t, func(t *testing.T) { test(t, newRig(t, storetest.SQLite(t))) })
}

// onBoth runs a test on SQLite with the clock of a bubble, and on PostgreSQL, which cannot be in one, with the machine's.
func onBoth(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		inBubble(t, test)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, storetest.Postgres(t)))
	})
}

// runUntil has a scheduler run until cond holds, or for three minutes.
func (r *rig) runUntil(cond func() bool) {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { r.scheduler().Run(ctx) })
	for ctx.Err() == nil && !cond() {
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	running.Wait()
}

// due has a job have its first slot then, as if nothing had run since.
func (r *rig) due(first time.Time, job *scheduler.Job) {
	r.Helper()
	job.Spec.Anchor = first
	if job.Spec.At != "" {
		job.Spec.At, job.Spec.Anchor = first.UTC().Format("2006-01-02T15:04:05"), time.Time{}
	}
	spec, err := json.Marshal(job.Spec)
	if err != nil {
		r.Fatal(err)
	}
	storetest.Exec(r, r.DB, fmt.Sprintf("UPDATE jobs SET slot = %[1]d, due_at = %[1]d, created_at = %[1]d, spec = '%[2]s' WHERE id = %[3]d", first.UnixMicro(), spec, job.ID))
}

// add makes a job of marco's.
func (r *rig) add(job scheduler.Job) *scheduler.Job {
	r.Helper()
	if job.Payload == "" {
		job.Payload = scheduler.PayloadNotify
	}
	job.Owner, job.Text = "marco", "stretch"
	c := jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &chat}
	if job.Payload == scheduler.PayloadMaintenance {
		job.Owner, job.Name, c.Target = "", "files", nil
	}
	if err := r.Router.Change(r.Ctx, &c, core.Actor{Person: "marco", Rule: "test"}); err != nil {
		r.Fatal(err)
	}
	return c.Done
}

func (r *rig) scheduler() *scheduler.Scheduler {
	return scheduler.New(scheduler.Deps{
		Store: counted{r.DB.Scheduler(r.Engine.ID()), r}, Starter: r, Maintainer: r, Teller: r,
		Settings: func() scheduler.Settings { return r.set }, Channels: func() []string { return r.serves },
		Log: slog.New(slog.NewTextHandler(&r.log, nil)),
	})
}

// runFor has a scheduler run for a while.
func (r *rig) runFor(d time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	r.scheduler().Run(ctx)
}

type counted struct {
	scheduler.Store
	r *rig
}

func (c counted) DueJobs(ctx context.Context, limit int, of scheduler.Reach) ([]scheduler.DueJob, time.Time, time.Time, error) {
	c.r.looks.Add(1)
	return c.Store.DueJobs(ctx, limit, of)
}

// Start implements scheduler.Starter.
func (r *rig) Start(ctx context.Context, run scheduler.DueRun) (scheduler.NotStarted, error) {
	if r.not != nil {
		if not := r.not(run); not.State != "" {
			return not, nil
		}
	}
	if r.fault != nil {
		if err := r.fault(run); err != nil {
			return scheduler.NotStarted{}, err
		}
	}
	s := jobs.Submission{
		Key: run.Run.Key(), Origin: "job", Person: run.Job.Owner, Rule: audit.RuleJob, To: chat, Text: run.Job.Text,
		Say: run.Job.Payload == scheduler.PayloadNotify, Run: run.Run.ID, Try: run.Run.Try,
	}
	var say *outbox.Reply
	if s.Say {
		say = &outbox.Reply{Text: s.Text, Parts: []channels.Body{{Text: s.Text}}}
	}
	a, err := r.Router.Submit(ctx, r.Engine.ID(), s, intake.TurnIntent{QueueLimit: 50}, say)
	if err == nil && !a.Duplicate && a.Refusal == "" {
		r.mu.Lock()
		r.started[s.Key]++
		r.mu.Unlock()
	}
	if err == nil && r.after != nil {
		err = r.after(run)
	}
	return scheduler.NotStarted{}, err
}

// Maintain implements scheduler.Maintainer.
func (r *rig) Maintain(ctx context.Context, job *scheduler.Job) (scheduler.Maintained, error) {
	return r.upkeep(ctx, job)
}

// Tell implements scheduler.Teller.
func (r *rig) Tell(ctx context.Context, person, key, text string, missed ...int64) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, person+": "+text)
	return true, r.DB.Scheduler(r.Engine.ID()).Told(ctx, missed)
}

// Warn implements scheduler.Teller.
func (r *rig) Warn(_ context.Context, job scheduler.Job, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, fmt.Sprintf("job %d: %s", job.ID, text))
}

// history is the job's runs, the oldest first.
func (r *rig) history(job int64) (runs []scheduler.Run) {
	r.Helper()
	list, err := r.Router.Runs(r.Ctx, job, 0, 1000)
	if err != nil {
		r.Fatal(err)
	}
	for i := range list {
		runs = append(runs, list[len(list)-1-i])
	}
	return runs
}

func (r *rig) job(id int64) *scheduler.Job {
	r.Helper()
	job, err := r.Router.Job(r.Ctx, id, "")
	if err != nil {
		r.Fatal(err)
	}
	return job
}

// states are the runs' states, in order.
func states(runs []scheduler.Run) string {
	var words []string
	for _, r := range runs {
		words = append(words, string(r.State))
	}
	return strings.Join(words, " ")
}

// end ends all turns that are queued.
func (r *rig) end(state, outcome string) {
	r.Helper()
	for _, c := range r.Claim(9) {
		for next := &c; next != nil; {
			next = r.Commit(next.TurnRef, storetest.End(state, outcome))
		}
	}
}

// every is a job that is due each so often, from the next whole one on.
func every(d time.Duration) scheduler.Spec {
	return scheduler.Spec{Every: d, Anchor: time.Now().Truncate(d), Zone: "UTC"}
}
