package tools

import (
	"context"
	"encoding/json"
)

// A Schedule keeps the jobs of the person of a call; the router's room jobs has one.
type Schedule interface {
	// AddJob makes a job that speaks where the call was made, or, with To, elsewhere.
	AddJob(ctx context.Context, call Call, job NewJob) Result
	// ListJobs says which jobs there are, or what became of one.
	ListJobs(ctx context.Context, call Call, which JobList) Result
	// ChangeJob changes one.
	ChangeJob(ctx context.Context, call Call, change JobEdit) Result
}

// What a NewJob does.
const (
	JobRemind    = "remind"    // says a text
	JobTask      = "task"      // has the agent do something
	JobHeartbeat = "heartbeat" // has the agent look at something, where something has changed
	JobSend      = "send"      // says a text elsewhere
)

// A NewJob is what schedule.add and schedule.send take. What is null is empty.
type NewJob struct {
	Kind string
	When string // in the words of scheduler.Read; without Text also that
	Text string
	Zone string // an IANA name
	To   string // JobSend: a person's name, a group's title, or CHANNEL:ID
}

// A JobList is what schedule.list takes.
type JobList struct {
	Job   int64 // 0: all of them
	All   bool  // of everybody
	After int64 // those with a higher number
}

// A JobEdit is what schedule.change takes.
type JobEdit struct {
	Job              int64
	Action           string // edit | pause | resume | run | skip | remove
	When, Text, Zone string // of an edit; empty: as before
}

const jobTime = `"maxLength": 8200, "description": "when, in English, by the page's grammar: 'in 20 minutes', 'tomorrow at 9', 'every weekday at 8:00'"`

var (
	zoneArg           = `{"type": ["string", "null"], "maxLength": 60, "description": "an IANA time zone such as Europe/Rome; null: the person's"}`
	scheduleAddSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"kind": {"type": "string", "enum": ["remind", "task", "heartbeat"], "description": "remind says text as it is; task has you do what text says; heartbeat is a task that is left out where nothing has changed"},
		"when": {"type": "string", "minLength": 1, ` + jobTime + `},
		"text": {"type": ["string", "null"], "maxLength": 8000, "description": "what to say, or to do; null: it stands in when, before or behind the time"},
		"zone": ` + zoneArg + `
	},
	"required": ["kind", "when", "text", "zone"],
	"additionalProperties": false
}`)
	scheduleListSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"job": {"type": ["integer", "null"], "minimum": 1, "description": "a job's number: all about it, and its last runs; null: the jobs"},
		"all": {"type": ["boolean", "null"], "description": "everybody's, for admins; null: the person's own"},
		"after": {"type": ["integer", "null"], "minimum": 1, "description": "only jobs with a higher number"}
	},
	"required": ["job", "all", "after"],
	"additionalProperties": false
}`)
	scheduleChangeSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"job": {"type": "integer", "minimum": 1, "description": "its number"},
		"action": {"type": "string", "enum": ["edit", "pause", "resume", "run", "skip", "remove"]},
		"when": {"type": ["string", "null"], ` + jobTime + `},
		"text": {"type": ["string", "null"], "maxLength": 8000, "description": "edit: what it says or does from now on; null: as before"},
		"zone": ` + zoneArg + `
	},
	"required": ["job", "action", "when", "text", "zone"],
	"additionalProperties": false
}`)
	scheduleSendSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"to": {"type": "string", "minLength": 1, "description": "a person's name, a group's title, or a conversation as CHANNEL:ID"},
		"when": {"type": "string", "minLength": 1, ` + jobTime + `},
		"text": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "what to say there, complete, in Markdown"},
		"zone": ` + zoneArg + `
	},
	"required": ["to", "when", "text", "zone"],
	"additionalProperties": false
}`)
)

// scheduleTools are the tools schedule.*; means says to whom a message would go.
func scheduleTools(s Schedule, means func(context.Context, Call) string) []Tool {
	return []Tool{
		{
			Name: "schedule.add", Summary: "Remind the person later, or do something for them later, once or again and again.",
			Effect: EffectOutside, Schema: scheduleAddSchema, Run: with(s.AddJob),
		},
		{
			Name: "schedule.list", Summary: "The person's reminders and jobs, or one with its last runs.",
			Effect: EffectRead, Schema: scheduleListSchema, Run: with(s.ListJobs),
		},
		{
			Name: "schedule.change", Summary: "Edit, pause, resume, run now, skip or remove a job.",
			Effect: EffectOutside, Schema: scheduleChangeSchema, Run: with(s.ChangeJob),
		},
		{
			Name: "schedule.send", Summary: "Write to somebody else, or to another conversation, later.",
			Effect: EffectOutside, Schema: scheduleSendSchema,
			Run: with(func(ctx context.Context, call Call, job NewJob) Result {
				job.Kind = JobSend
				return s.AddJob(ctx, call, job)
			}),
			Means: means,
		},
	}
}
