package jobs_test

import (
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
)

// What an admin allowed to be sent to others is sent as it was allowed, or not at all.
func TestWhatGoesToOthersStaysAsItWasAllowed(t *testing.T) {
	t.Parallel()
	r := rows{jobs: []scheduler.Job{{
		ID: 1, Owner: "ann", Payload: scheduler.PayloadSend, Text: "Hello", Spec: scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC"},
		State: scheduler.JobActive, Rules: scheduler.Rules{Approved: true},
	}}}
	d := newDesk(&r)
	for _, verb := range []string{"text pay me now", "when every minute", "overlap allow", "times 5", "timezone Asia/Tokyo", "run"} {
		if answer := give(t, d, &r, ann, chat, "jobs 1 "+verb); !strings.Contains(answer.Text, "may do so only exactly as it was allowed") {
			t.Errorf("%s: %s", verb, answer.Text)
		}
	}
	for _, c := range []struct {
		by         *core.Person
		verb, want string
	}{
		{ann, "pause", "I paused message"},
		{ann, "resume", "Resumed"},
		{ann, "skip", "I'll skip the next run"},
		{root, "run", "I'm running message"},
		{root, "text Hello, Bob", "Hello, Bob"},
		{ann, "delete", "I removed message 1: Hello, Bob"},
	} {
		if answer := give(t, d, &r, c.by, chat, "jobs 1 "+c.verb); !strings.Contains(unescaped(answer.Text), c.want) {
			t.Errorf("%s: %s: %s\nwant %s", c.by.Name, c.verb, answer.Text, c.want)
		}
	}
}

// Whichever way a text comes, it is stored without credentials.
func TestTextsAreStoredWithoutCredentials(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	call := tools.Call{Session: tools.Session{ID: "telegram:7", Person: "ann", Channel: "telegram", Direct: true}}
	kept := func(way string, change *jobs.Change, err error) {
		t.Helper()
		if err != nil || strings.Contains(change.Job.Text, "hunter2") || !strings.Contains(change.Job.Text, "[redacted]") {
			t.Fatalf("%s: %+v, error %v", way, change, err)
		}
		if err := r.Change(t.Context(), change, core.Actor{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range []tools.NewJob{{When: "tomorrow at 9", Text: "log in with hunter2"}, {When: "tomorrow at 9 log in with hunter2"}} {
		job.Kind = tools.JobRemind
		change, err := d.Add(t.Context(), "ann", true, job)
		kept("added on the machine", change, err)
	}
	for _, edit := range []tools.JobEdit{{Text: "try hunter2"}, {When: "tomorrow at 10 try hunter2"}} {
		edit.Job, edit.Action = 1, "edit"
		change, err := d.Edit(t.Context(), "owner", true, edit)
		kept("edited on the machine", change, err)
	}
	if res := d.AddJob(t.Context(), call, tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9", Text: "say hunter2", Zone: "UTC"}); strings.Contains(res.Output+r.jobs[2].Text, "hunter2") {
		t.Errorf("added by a tool: %+v", res)
	}
}

// The job remembers which admin gave it what only admins may give.
func TestWhatAnAdminTypedIsMarked(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	give(t, d, &r, ann, chat, "jobs heartbeat every hour see what is new")
	for _, c := range []struct {
		by            *core.Person // nil: whoever runs the program
		option        string
		budget, check string
	}{
		{root, "budget 0.6", "root", ""},
		{root, "checklist ada.md", "root", "root"},
		{ann, "budget 0.6", "root", "root"},
		{ann, "budget 0.5", "", "root"},
		{nil, "checklist ada.md", "", "machine:"},
		{nil, "budget 0.7", "machine:", "machine:"},
		{ann, "overlap skip", "machine:", "machine:"},
	} {
		if c.by != nil {
			give(t, d, &r, c.by, chat, "jobs 1 "+c.option)
		} else if change, err := d.Edit(t.Context(), "owner", true, tools.JobEdit{Job: 1, Action: "edit", Options: []string{c.option}}); err != nil || r.Change(t.Context(), change, core.Actor{}) != nil {
			t.Fatalf("%s: %v", c.option, err)
		}
		if rules := r.jobs[0].Rules; rules.BudgetBy != c.budget || rules.FileBy != c.check {
			t.Errorf("%s: the budget is by %q, the checklist by %q", c.option, rules.BudgetBy, rules.FileBy)
		}
	}
}

// What has to be in the person's own words is what is said, and when, where it comes again or nobody can say.
func TestJobKeepsWhatItSays(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	for job, want := range map[[4]string]string{
		{"reminder", "tomorrow at 9", "tea", ""}:                   "tea",
		{"reminder", "in 20 minutes to stretch", "", ""}:           "stretch",
		{"reminder", "in 20 minutes", "", ""}:                      "in 20 minutes",
		{"reminder", "every minute", "tea", ""}:                    "every minute|tea",
		{"reminder", "every monday at 9 to call Ann", "", ""}:      "every monday at 9 to call Ann",
		{"reminder", "Europe/Rome tomorrow at 9", "tea", ""}:       "tea",
		{"reminder", "ogni giorno", "tea", ""}:                     "ogni giorno|tea",
		{"reminder", "in 20 minutes to stretch", "", "Asia/Tokyo"}: "reminder in 20 minutes to stretch  Asia/Tokyo",
		{"task", "tomorrow at 9", "tea", ""}:                       "task tomorrow at 9 tea ",
	} {
		if got := strings.Join(d.Keeps(t.Context(), tools.NewJob{Kind: job[0], When: job[1], Text: job[2], Zone: job[3]}), "|"); got != want {
			t.Errorf("%q: %q, want %q", job, got, want)
		}
	}
}

// A question names the job that it is about, and nobody is asked about one that is not there.
func TestQuestionNamesTheJob(t *testing.T) {
	t.Parallel()
	r := rows{jobs: []scheduler.Job{
		{ID: 36, Owner: "ann", Payload: scheduler.PayloadNotify, Text: "call Ann", Spec: scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC"}, State: scheduler.JobActive},
		{ID: 37, Owner: "root", Payload: scheduler.PayloadNotify, Text: "secret", Spec: scheduler.Spec{Cron: "0 9 * * *", Zone: "UTC"}, State: scheduler.JobActive},
	}}
	d := newDesk(&r)
	call := tools.Call{Session: tools.Session{ID: "telegram:7", Person: "ann", Channel: "telegram", Direct: true}}
	for _, tt := range []struct {
		edit tools.JobEdit
		want string
	}{
		{tools.JobEdit{Job: 36, Action: "remove"}, "remove reminder 36: call Ann"},
		{tools.JobEdit{Job: 36, Action: "edit", When: "every monday\nat 9", Text: "call\nBob"}, "change reminder 36: call Ann, to every monday at 9\ncall\nBob"},
		{tools.JobEdit{Job: 37, Action: "remove"}, ""},
		{tools.JobEdit{Job: 99, Action: "pause"}, ""},
	} {
		deed := d.DescribeChange(t.Context(), call, tt.edit)
		if deed.Words != tt.want || (deed.Refused == nil) != (tt.want != "") {
			t.Errorf("%+v: %+v", tt.edit, deed)
		}
	}
	if deed := d.DescribeChange(t.Context(), call, tools.JobEdit{Job: 99, Action: "pause"}); deed.Refused == nil || !strings.Contains(deed.Refused.Output, "no reminder or job 99") {
		t.Errorf("%+v", deed.Refused)
	}
	if r.jobs[0].State != scheduler.JobActive {
		t.Error("to describe it changed it")
	}
}
