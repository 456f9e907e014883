package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// A Schedule keeps the jobs of the person of a call; the router's room jobs has one.
type Schedule interface {
	// AddJob makes a job that speaks where the call was made, or, with To, elsewhere.
	AddJob(ctx context.Context, call Call, job NewJob) Result
	// ListJobs says which jobs there are, or what became of one.
	ListJobs(ctx context.Context, call Call, which JobList) Result
	// ChangeJob changes one.
	ChangeJob(ctx context.Context, call Call, change JobEdit) Result
	// DescribeChange is what Tool.Describe says of a change.
	DescribeChange(ctx context.Context, call Call, change JobEdit) Deed
	// Keeps is what Tool.Keeps says of a job to be made.
	Keeps(ctx context.Context, job NewJob) []string
}

// What a NewJob does.
const (
	JobRemind    = "reminder"  // says a text
	JobTask      = "task"      // has the agent do something
	JobHeartbeat = "heartbeat" // has the agent look at something, where something has changed
	JobSend      = "message"   // says a text elsewhere
)

// A NewJob is what schedule.add and schedule.send take. What is null is empty.
type NewJob struct {
	Kind string
	When string // in the words of scheduler.Read; without Text also that
	Text string
	Zone string // an IANA name
	To   string // JobSend: a person's name, a group's title, or CHANNEL:ID
	// Options are scheduler.Options, each its name and value; no tool takes them.
	Options []string
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
	Action           string   // edit | set | pause | resume | run | skip | remove
	When, Text, Zone string   // of an edit; empty: as before
	Options          []string // of an edit: scheduler.Options, each its name and value
}

// scheduleTools are the tools schedule.*. To add a job has no effect outside: what it does later is judged under the
// taint of the turn that made it.
func scheduleTools(s Schedule) []Tool {
	add := declared("schedule.add", with(s.AddJob))
	add.Keeps = func(ctx context.Context, call Call) []string {
		var job NewJob
		_ = json.Unmarshal(call.Args, &job) // checked against the schema
		return s.Keeps(ctx, job)
	}
	change := declared("schedule.change", with(s.ChangeJob))
	change.Describe = func(ctx context.Context, call Call) Deed {
		var edit JobEdit
		_ = json.Unmarshal(call.Args, &edit) // checked against the schema
		return s.DescribeChange(ctx, call, edit)
	}
	return []Tool{
		add, declared("schedule.list", with(s.ListJobs)), change,
		declared("schedule.send", with(func(ctx context.Context, call Call, job NewJob) Result {
			job.Kind = JobSend
			return s.AddJob(ctx, call, job)
		})),
	}
}

// Written is a use of a tool as name(key: value, …), in the order of the arguments, without those that are
// null; arguments that are no JSON object are as they are.
func Written(tool, args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return args
	}
	var parts []string
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return args
		}
		if string(value) != "null" {
			parts = append(parts, fmt.Sprintf("%v: %s", key, value))
		}
	}
	return tool + "(" + strings.Join(parts, ", ") + ")"
}

// ScheduleWords are what a job that schedule.add or schedule.send makes comes to, as it stands behind "May I", and the text that it
// keeps; empty: of other tools, and of arguments that are none.
func ScheduleWords(tool, args string) (does, text string) {
	var a NewJob
	if !strings.HasPrefix(tool, "schedule.") || json.Unmarshal([]byte(args), &a) != nil {
		return "", ""
	}
	switch {
	case tool == "schedule.send":
		does = "write to " + a.To
	case tool == "schedule.add":
		does = "make a " + a.Kind
	default:
		return "", ""
	}
	for _, part := range []string{a.When, a.Zone} {
		if part != "" {
			does += ", " + strings.Join(strings.Fields(part), " ")
		}
	}
	return does, a.Text
}
