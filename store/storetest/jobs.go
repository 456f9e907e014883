package storetest

import (
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	routerjobs "switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store/jobs"
)

// WithRun makes marco, the chat c, where he wrote once, and a job with a run 1 that is due.
func (h *House) WithRun() {
	h.Helper()
	Exec(h, h.DB, `INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES ('marco', 'admin', '["*"]', '', 'config', 1, 1)`,
		`INSERT INTO jobs (owner, payload, spec, rules, state, failures, created_at, updated_at) VALUES ('marco', 'agent', '{}', '{}', 'active', 3, 1, 1)`,
		`INSERT INTO runs (job_id, slot, try, state, created_at) VALUES (1, 1000, 1, 'due', 1)`)
	h.Accept(Control(Entry("c", "first", "/help"), "", "help"))
}

// MarcosChat is where marco's jobs report.
var MarcosChat = channels.Conversation{Channel: "tg", ID: "c1", Kind: channels.Direct, Place: "c1"}

// ByMarco is marco, who may.
var ByMarco = core.Actor{Person: "marco", Rule: "test"}

// Changed makes a change of a job.
func (h *House) Changed(c routerjobs.Change) *routerjobs.Change {
	h.Helper()
	if err := h.Router.Change(h.Ctx, &c, ByMarco); err != nil {
		h.Fatalf("%s job %d: %v", c.Kind, c.ID, err)
	}
	return &c
}

// Reminder adds a job of marco's, who is somebody.
func (h *House) Reminder(spec scheduler.Spec) *scheduler.Job {
	h.Helper()
	h.People()
	job := scheduler.Job{Owner: "marco", Payload: scheduler.PayloadNotify, Text: "stretch", Spec: spec}
	return h.Changed(routerjobs.Change{Kind: routerjobs.AddJob, Job: &job, Target: &MarcosChat}).Done
}

// People makes marco an admin and eve a user.
func (h *House) People() {
	h.Helper()
	if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "marco", Role: core.RoleAdmin}, {Name: "eve", Role: core.RoleUser}}); err != nil {
		h.Fatal(err)
	}
}

// Work is the scheduler's view.
func (h *House) Work() *jobs.Scheduler { return h.DB.Scheduler(h.Owner()) }

// Due has the jobs' next slot have come this long ago.
func (h *House) Due(ago time.Duration) {
	h.Helper()
	at := NameOf(h.Clock().Add(-ago).UnixMicro())
	h.Exec("UPDATE jobs SET slot = " + at + ", due_at = " + at + " WHERE state = 'active' AND due_at > 0")
}

// Clock is the clock that jobs go by.
func (h *House) Clock() time.Time { return time.Now() }

// OfTG is what an engine with channel "tg" reaches.
var OfTG = scheduler.Reach{Channels: []string{"tg"}}

// Hourly runs each hour.
var Hourly = scheduler.Spec{Every: time.Hour, Zone: "UTC"}
