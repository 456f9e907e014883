package jobs_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
)

// rows is a database of jobs in memory.
type rows struct {
	jobs  []scheduler.Job
	told  []jobs.Notification
	runs  []scheduler.Run
	hand  core.Actor
	asked []string
}

func (r *rows) Jobs(_ context.Context, of string, after int64, limit int) (list []scheduler.Job, err error) {
	for _, j := range r.jobs {
		if (of == "" || j.Owner == of) && j.ID > after && j.State != scheduler.JobRemoved && len(list) < limit {
			list = append(list, j)
		}
	}
	return list, nil
}

func (r *rows) AskedIn(context.Context, int64) (channels.MessageID, error) { return "m7", nil }

func (r *rows) Job(_ context.Context, id int64, of string) (*scheduler.Job, error) {
	for _, j := range r.jobs {
		if j.ID == id && (of == "" || j.Owner == of) {
			return &j, nil
		}
	}
	return nil, core.ErrNotFound
}

func (r *rows) Runs(context.Context, int64, int64, int) ([]scheduler.Run, error) { return r.runs, nil }

func (r *rows) Notifications(_ context.Context, _ string, _ int64, limit int, unread bool) (list []jobs.Notification, err error) {
	for _, n := range r.told {
		if !unread || n.Read.IsZero() {
			list = append(list, n)
		}
	}
	return list[:min(len(list), limit)], nil
}

// Change does what the store does, as far as what is said of it goes.
func (r *rows) Change(_ context.Context, change core.Change, by core.Actor) error {
	c, ok := change.(*jobs.Change)
	if !ok {
		return nil
	}
	r.hand = by
	if c.Kind == jobs.AddJob {
		job := *c.Job
		job.ID = int64(len(r.jobs) + 1)
		r.jobs = append(r.jobs, job)
		c.Done = &job
		return nil
	}
	i := slices.IndexFunc(r.jobs, func(j scheduler.Job) bool { return j.ID == c.ID && (c.Of == "" || j.Owner == c.Of) })
	if i < 0 {
		return core.ErrNotFound
	}
	switch c.Kind {
	case jobs.EditJob:
		r.jobs[i] = *c.Job
	case jobs.PauseJob:
		r.jobs[i].State = scheduler.JobPaused
	case jobs.ResumeJob:
		r.jobs[i].State = scheduler.JobActive
	case jobs.SkipJob:
		if r.jobs[i].Spec.At != "" {
			r.jobs[i].State = scheduler.JobDone
		}
	case jobs.RemoveJob:
		r.jobs[i].State = scheduler.JobRemoved
	case jobs.SnoozeJob:
		job := r.jobs[i]
		job.ID, job.Spec = int64(len(r.jobs)+1), scheduler.Spec{At: c.Until.UTC().Format("2006-01-02T15:04:05Z"), Zone: job.Spec.Zone}
		r.jobs = append(r.jobs, job)
		c.Done = &job
		return nil
	}
	job := r.jobs[i]
	c.Done = &job
	return nil
}

// now is a Monday, 11:00 in Rome.
var now = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

var (
	ann  = &core.Person{Name: "ann", Role: core.RoleUser, TimeZone: "Europe/Rome"}
	root = &core.Person{Name: "root", Role: core.RoleAdmin, TimeZone: "Europe/Rome"}
	nils = &core.Person{Name: "nils", Role: core.RoleUser} // nobody named a zone
	chat = channels.Conversation{Channel: "telegram", ID: "7", Kind: channels.Direct}
	club = channels.Conversation{Channel: "telegram", ID: "-9", Kind: channels.Group}
)

func newDesk(r *rows) *jobs.Service {
	return &jobs.Service{
		Store: r, Change: r.Change, Now: func() time.Time { return now },
		Hide:   func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") },
		Begins: func(scheduler.Payload) bool { return true },
		Zone: func(context.Context, channels.Conversation, *core.Person) (string, error) {
			return "Europe/Rome", nil
		},
		Settings: func() jobs.Settings {
			return jobs.Settings{Enabled: true, Models: []string{"fast", "offline"}, PerRun: 0.5}
		},
		Person: func(name string) *core.Person {
			return map[string]*core.Person{"ann": ann, "root": root, "nils": nils}[name]
		},
		Chat: func(_ context.Context, session string) (channels.Conversation, error) {
			return map[string]channels.Conversation{"telegram:7": chat, "telegram:-9": club}[session], nil
		},
		FindRecipient: func(_ context.Context, _ *core.Person, to string) (channels.Conversation, string, *tools.Result) {
			if to != "bob" && to != "ann" {
				return channels.Conversation{}, "", &tools.Result{End: tools.EndRefused, Code: "no_recipient"}
			}
			return channels.Conversation{Channel: "slack", ID: "D1", Kind: channels.Direct}, "bob", nil
		},
	}
}

// give gives a command as the router does, and returns what is answered.
func give(t *testing.T, d *jobs.Service, r *rows, by *core.Person, at channels.Conversation, text string) commands.Answer {
	t.Helper()
	name, args, _ := strings.Cut(text, " ")
	for _, c := range d.Commands() {
		if c.Name != name {
			continue
		}
		answer, err := c.Run(t.Context(), &commands.Call{Event: &channels.Event{Conversation: at}, Person: by, Name: name, Args: args, Slash: "/", TimeZone: cmp.Or(by.TimeZone, "UTC")})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if answer.Change != nil {
			if err := r.Change(t.Context(), answer.Change, core.Actor{}); err != nil {
				return commands.Says("%v", err)
			}
		}
		if answer.Say != nil {
			return answer.Say()
		}
		return answer
	}
	t.Fatalf("there is no command %s", name)
	return commands.Answer{}
}

// unescaped is a text as people read it.
func unescaped(text string) string { return strings.ReplaceAll(text, `\`, "") }

// A reminder is answered with the local time, the zone, the next three times and the number.
func TestRemindEchoesWhatWasUnderstood(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"remind tomorrow at 9 to call Ann": "I'll remind you tomorrow, Tue 24 Nov, 09:00: call Ann.",
		"remind in 3 seconds to stretch":   "I'll remind you at 11:00:03: stretch.",
		"remind every weekday at 8 stand up": "I'll remind you every weekday at 08:00: stand up.\n" +
			"Next: Tue 24 Nov 2026 08:00, Wed 25 Nov 2026 08:00, Thu 26 Nov 2026 08:00.",
		"remind Asia/Tokyo tomorrow at 9 to call Ann":                      "I'll remind you tomorrow, Tue 24 Nov, 09:00 (Asia/Tokyo): call Ann.",
		"jobs add every hour list files":                                   "I'll do this every hour: list files.\nNext: ",
		"jobs heartbeat every hour between 8:00 and 22:00 see what is new": "I'll write only if something is new. I'll look into this every hour between 08:00 and 22:00: see what is new.\nNext: ",
		"jobs heartbeat every 30 seconds see":                              "That is too often: between two runs there has to be at least a minute.",
		"jobs heartbeat tomorrow at 9 see":                                 "A heartbeat comes again and again",
		"remind tomorrow at 9":                                             "What shall I remind you of tomorrow at 9?",
		"remind remind me tomorrow at 9":                                   "What shall I remind you of tomorrow at 9?",
		"remind every day at 9, 2 times tea":                               "I'll remind you every day at 09:00, 2 times: tea.\nNext: Tue 24 Nov 2026 09:00, Wed 25 Nov 2026 09:00.",
		"remind every second to breathe":                                   "That is too often: between two runs there has to be at least a minute.",
		"jobs add every 30 seconds list files":                             "That is too often: between two runs there has to be at least a minute.",
		"remind 2020-01-01 09:00 to call":                                  "2020",
		"remind whenever you like":                                         "",
		"remind":                                                           "Write \"/remind\", when, and what",
		"remind call " + strings.Repeat("5/12/2026 ", 900):                 "The text is too long; a job takes 8000 bytes.",
		"remind tomorrow at 9 " + strings.Repeat("x", 8001):                "The text is too long; a job takes 8000 bytes.",
	} {
		var r rows
		answer := give(t, newDesk(&r), &r, ann, chat, text)
		if !strings.Contains(unescaped(answer.Text), want) {
			t.Errorf("%.60s: %s\nwant %s", text, answer.Text, want)
		}
		if answer.Taint != "" {
			t.Errorf("%.60s: the answer is tainted (%s)", text, answer.Taint)
		}
		if made := strings.HasPrefix(want, "I'll "); made != (len(r.jobs) == 1) {
			t.Errorf("%.60s: %d jobs", text, len(r.jobs))
		}
	}
}

// What may be one of several times is asked with buttons, each of which makes the job.
func TestAmbiguousTimeIsAskedWithButtons(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	answer := give(t, d, &r, ann, chat, "remind at 9: in Paris call Ann")
	if len(answer.Buttons) != 2 || len(r.jobs) != 0 {
		t.Fatalf("%+v", answer)
	}
	said := give(t, d, &r, ann, chat, answer.Buttons[1].Command)
	if want := "tomorrow, Tue 24 Nov, 09:00: in Paris call Ann."; !strings.Contains(unescaped(said.Text), want) {
		t.Errorf("%q says %q", answer.Buttons[1].Command, said.Text)
	}
}

// A reminder of somebody whose zone nobody named is kept, and says so with a question, where it matters.
func TestUnknownZoneIsAskedFor(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	answer := give(t, d, &r, nils, chat, "remind tomorrow at 9 to call Ann")
	if len(r.jobs) != 1 || !r.jobs[0].Spec.Assumed || !strings.Contains(unescaped(answer.Text), "tomorrow, Tue 24 Nov, 09:00 (UTC): call Ann.") || !strings.Contains(answer.Text, "Where are you? A city is enough.") {
		t.Fatalf("%+v", answer)
	}
	if n := len(answer.Buttons); n < 5 || answer.Buttons[2].Command != "timezone London" {
		t.Errorf("buttons: %+v", answer.Buttons)
	}
	var told rows // the zone was told while the turn ran: the turn knows nothing of it
	call := tools.Call{Session: tools.Session{ID: "telegram:7", Person: "nils", Channel: "telegram", Direct: true, TimeZone: "UTC"}}
	if res := newDesk(&told).AddJob(t.Context(), call, tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9 to call Ann"}); len(told.jobs) != 1 || told.jobs[0].Spec.Zone != "Europe/Rome" || told.jobs[0].Spec.Assumed {
		t.Errorf("told while the turn ran: %+v, %+v", res, told.jobs)
	}
	known := *nils
	known.TimeZone = "UTC"
	if answer := give(t, d, &r, &known, chat, "remind tomorrow at 10 to call Bob"); len(r.jobs) != 2 || r.jobs[1].Spec.Assumed || strings.Contains(answer.Text, "Where are you") {
		t.Errorf("who is in UTC: %q", answer.Text)
	}
	var other rows
	if give(t, newDesk(&other), &other, nils, chat, "remind in 20 minutes tea"); len(other.jobs) != 1 {
		t.Error("it is asked for where it does not matter")
	}
	var late rows
	slow, began := newDesk(&late), newDesk(&late).Now()
	slow.Now = func() time.Time { began = began.Add(time.Second); return began } // a second goes by while it is read
	if give(t, slow, &late, nils, chat, "remind in 7 seconds tea"); len(late.jobs) != 1 {
		t.Error("it is asked for as time goes by")
	}
}

func TestJobsAreManagedByTheirOwnersAndAdmins(t *testing.T) {
	t.Parallel()
	r := rows{jobs: []scheduler.Job{{
		ID: 1, Name: "audit", Payload: scheduler.PayloadMaintenance, Spec: scheduler.Spec{Cron: "1 * * * *", Zone: "UTC"}, State: scheduler.JobActive,
	}}}
	d := newDesk(&r)
	give(t, d, &r, ann, chat, "remind every day at 9 call Ann")
	give(t, d, &r, root, chat, "remind tomorrow at 9 call root")
	for _, tt := range []struct {
		by   *core.Person
		at   channels.Conversation
		text string
		want string
	}{
		{ann, chat, "jobs", "- **2** reminder, every day at 09:00 (Europe/Rome): call Ann\n"},
		{ann, chat, "jobs 2", "- next: Tue 24 Nov 2026 09:00, Wed 25 Nov 2026 09:00, Thu 26 Nov 2026 09:00"},
		{ann, chat, "jobs 3", "You have no job 3."},
		{ann, chat, "jobs 3 delete", "You have no job 3."},
		{ann, chat, "jobs all", "Only admins can list everybody's jobs"},
		{root, club, "jobs all", "Only admins can list everybody's jobs"},
		{root, club, "jobs 2", "You have no job 2."},
		{ann, club, "jobs", "No reminders yet."},
		{ann, club, "jobs 2", "You have no job 2."},
		{root, chat, "jobs", "- **3** reminder"},
		{root, chat, "jobs all", "- **1** maintenance, at minute 1 of every hour (UTC): audit"},
		{root, chat, "jobs 1 delete", "Job 1 is the program's own and stays"},
		{root, chat, "jobs 1 text x", "Job 1 is the program's own"},
		{ann, chat, "jobs 2 when every day at 10", "I'll remind you every day at 10:00: call Ann."},
		{ann, chat, "jobs 2 text call Bob", "I'll remind you every day at 10:00: call Bob."},
		{ann, chat, "jobs 2 text", "Say a new time, a new text, or an option: misfire, "},
		{ann, chat, "jobs 2 when blue", ""},
		{ann, chat, "jobs 2 snooze 10m", "I'll remind you again on Mon 23 Nov 2026 11:10 (Europe/Rome): call Bob"},
		{ann, chat, "jobs 2 snooze tomorrow", "I'll remind you again on Tue 24 Nov 2026 11:00 (Europe/Rome): call Bob"},
		{ann, chat, "jobs 2 snooze 1s", "A reminder is snoozed for a time such as 10m or 1h, or until one such as tomorrow at 9."},
		{ann, chat, "jobs 2 dance", "After the number of a job you can write"},
		{ann, chat, "jobs 2 history", "Job 2 has not run yet."},
		{ann, chat, "jobs dance", "I also know"},
		{ann, chat, "jobs 2 pause", "I paused reminder 2: call Bob"},
		{ann, chat, "jobs 2 resume", "Resumed. I'll remind you every day at 10:00: call Bob."},
		{ann, chat, "jobs 4 skip", "I'll skip the next run of reminder 4. No other is left."},
		{root, chat, "jobs 2 delete", "I removed reminder 2: call Bob"},
		{ann, chat, "jobs 2", "- removed"},
		{ann, chat, "jobs 2 resume", "Job 2 is deleted."},
		{ann, chat, "jobs 2 text call Eve", "Job 2 is deleted."},
		{root, chat, "jobs 1 pause", "I paused maintenance 1: audit"},
		{root, chat, "jobs 1", "Job 1, maintenance, at minute 1 of every hour (UTC):"},
		{ann, chat, "jobs after 5", "There are no others."},
		{ann, club, "remind tomorrow at 9 drink tea", "I'll remind you tomorrow"},
		{ann, club, "jobs", "drink tea – for ann"},
		{ann, club, "jobs 6", "- for ann"},
		{ann, chat, "jobs 2 snooze tomorrow at 9", "I'll remind you again on Tue 24 Nov 2026 09:00 (Europe/Rome): call Bob"},
		{ann, chat, "jobs 2 snooze every day at 9", "A reminder is snoozed for a time such as 10m or 1h"},
	} {
		answer := give(t, d, &r, tt.by, tt.at, tt.text)
		if !strings.Contains(unescaped(answer.Text), tt.want) {
			t.Errorf("%s: %s: %s\nwant %s", tt.by.Name, tt.text, answer.Text, tt.want)
		}
		if tt.by == root && strings.HasPrefix(tt.text, "jobs 2") && answer.Taint != tools.Others && tt.at == chat {
			t.Errorf("%s repeats the words of another clean", tt.text)
		}
		if tt.text == "jobs 1" && slices.ContainsFunc(answer.Buttons, func(b commands.Button) bool { return b.Label == "Delete" }) {
			t.Error("what stays has a button to delete it")
		}
	}
}

// Every option of a job is a word behind its number, within what its owner may have.
func TestOptionsAreSetInChat(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	give(t, d, &r, ann, chat, "jobs add every hour list files")
	give(t, d, &r, ann, chat, "jobs heartbeat every hour see what is new")
	for _, c := range []struct {
		by         *core.Person
		text, want string
	}{
		{ann, "jobs 1 overlap queue", "I'll do this every hour: list files.\nNext: Mon 23 Nov 2026 12:00, Mon 23 Nov 2026 13:00, Mon 23 Nov 2026 14:00.\nOptions: overlap queue."},
		{ann, "jobs 1 retries 0", "Options: overlap queue, retries 0."},
		{ann, "jobs 1 retries default", "Options: overlap queue."},
		{ann, "jobs 1 jitter 5m", "overlap queue, jitter 5m."},
		{ann, "jobs 1 when every 2 hours", "overlap queue, jitter 5m."},
		{ann, "jobs 1 jitter default", "Options: overlap queue."},
		{ann, "jobs 1 overlap", "overlap takes skip, queue or allow; default takes it away"},
		{ann, "jobs 1 overlap twice", "overlap takes skip, queue or allow, not \"twice\""},
		{ann, "jobs 1", "- options: overlap queue"},
		{ann, "jobs 2 when tomorrow at 9", "A heartbeat comes again and again"},
		{ann, "jobs 2 when every 2 hours between 8:00 and 22:00", "every 2 hours between 08:00 and 22:00"},
		{ann, "jobs 2 when every hour", "only if something is new. I'll look into this every hour"},
		{ann, "jobs 2 model fast", "Options: model fast."},
		{ann, "jobs 2 model slow", "There is no model \"slow\"; there are fast, offline."},
		{ann, "jobs 2 budget 0.4", "budget 0.4"},
		{ann, "jobs 2 budget 0.6", "A run may cost 0.5 at most (budget.per_job_run)"},
		{ann, "jobs 2 checklist all.md", "Only admins say which checklist"},
		{ann, "jobs 2 text what of my mail is urgent?", "every hour: what of my mail is urgent?"},
		{root, "jobs 2 budget 0.6", "budget 0.6"},
		{root, "jobs 2 checklist all.md", "checklist all.md"},
		{root, "jobs 2 checklist ../key", "checklist takes a file"},
		{ann, "jobs 2 overlap allow", "budget 0.6, model fast, checklist all.md"}, // what an admin allowed stays
		{ann, "jobs 2 budget default", "Options: overlap allow, model fast, checklist all.md."},
	} {
		if answer := give(t, d, &r, c.by, chat, c.text); !strings.Contains(unescaped(answer.Text), c.want) {
			t.Errorf("%s: %s: %s\nwant %s", c.by.Name, c.text, answer.Text, c.want)
		}
	}
	call := tools.Call{Session: tools.Session{ID: "telegram:7", Person: "root", Channel: "telegram", Direct: true}}
	give(t, d, &r, root, chat, "jobs add every hour list files")
	for text, want := range map[string]string{"budget 0.6": "not_permitted", "budget 0.3": "job 3", "misfire never": "bad_arguments", "": "bad_arguments"} {
		if res := d.ChangeJob(t.Context(), call, tools.JobEdit{Job: 3, Action: "set", Text: text}); res.Code != want {
			t.Errorf("by a tool, %q: %+v", text, res)
		}
	}
	d.Settings = func() jobs.Settings { return jobs.Settings{Unpriced: []string{"fast has no price"}} }
	if answer := give(t, d, &r, root, chat, "jobs 1 budget 0.1"); !strings.Contains(answer.Text, "fast has no price") {
		t.Errorf("with no prices: %s", answer.Text)
	}
}

// What the tools say is what the commands say, and the job remembers what its turn had read.
func TestToolsDoWhatCommandsDo(t *testing.T) {
	t.Parallel()
	var r rows
	d := newDesk(&r)
	call := tools.Call{Session: tools.Session{ID: "telegram:7", Person: "ann", Channel: "telegram", Direct: true, Turn: 5, TimeZone: "Europe/Rome"}, Taint: "web"}
	res := d.AddJob(t.Context(), call, tools.NewJob{Kind: tools.JobTask, When: "every weekday at 8:00", Text: "List my tasks."})
	if res.End != tools.EndOK || !strings.HasPrefix(res.Output, "I'll do this every weekday at 08:00 (Europe/Rome): List my tasks.") || res.Taint != "web" {
		t.Errorf("%+v", res)
	}
	if r.jobs[0].Taint != "web" || r.jobs[0].Target != (scheduler.Target{Channel: "telegram", Conversation: "7"}) || r.hand.Turn != 5 || r.hand.Person != "ann" {
		t.Errorf("it is stored as %+v, by %+v", r.jobs[0], r.hand)
	}
	res = d.AddJob(t.Context(), call, tools.NewJob{Kind: tools.JobSend, When: "tomorrow at 9", Text: "Hello", To: " bob "})
	if res.End != tools.EndOK || !r.jobs[1].Rules.Approved || r.jobs[1].Target.Channel != "slack" {
		t.Errorf("%+v, %+v", res, r.jobs[1])
	}
	for _, edit := range []tools.JobEdit{{Job: 2, Action: "edit", Text: "Pay me"}, {Job: 2, Action: "run"}} {
		if res := d.ChangeJob(t.Context(), call, edit); res.Code != "refused" || r.jobs[1].Text != "Hello" {
			t.Errorf("what was allowed as it was is changed: %+v", res)
		}
	}
	byAdmin := call
	byAdmin.Session.Person = "root"
	if res := d.ChangeJob(t.Context(), byAdmin, tools.JobEdit{Job: 1, Action: "pause"}); res.Code != "not_found" {
		t.Errorf("a tool changes another's job: %+v", res)
	}
	for _, tt := range []struct {
		job  tools.NewJob
		code string
	}{
		{tools.NewJob{Kind: tools.JobRemind, When: "at 9 to call Ann"}, "ambiguous"},
		{tools.NewJob{Kind: tools.JobRemind, When: "2020-01-01 09:00", Text: "x"}, "past"},
		{tools.NewJob{Kind: tools.JobRemind, When: "каждый день", Text: "x"}, "bad_time"},
		{tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9", Text: "x", Zone: "Mars/Olympus"}, "bad_time"},
		{tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9 to call Ann", Text: "x"}, "bad_time"},
		{tools.NewJob{Kind: tools.JobSend, When: "tomorrow at 9", Text: "x", To: "eve"}, "no_recipient"},
	} {
		if res := d.AddJob(t.Context(), call, tt.job); res.End != tools.EndRefused || res.Code != tt.code {
			t.Errorf("%+v: %+v", tt.job, res)
		}
	}
	if res := d.AddJob(t.Context(), call, tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9", Text: "x", Zone: "new york"}); !strings.Contains(res.Output, ", 09:00 (America/New_York): x.") {
		t.Errorf("a city: %+v", res)
	}
	if res := d.ListJobs(t.Context(), call, tools.JobList{All: true}); res.Code != "not_permitted" {
		t.Errorf("everybody's: %+v", res)
	}
	if res := d.ListJobs(t.Context(), call, tools.JobList{}); res.End != tools.EndOK || !strings.Contains(res.Output, "List my tasks. – made after I read a web page\n") || res.Taint != "web" {
		t.Errorf("%+v", res)
	}
	if res := d.ListJobs(t.Context(), call, tools.JobList{Job: 1}); res.End != tools.EndOK || !strings.Contains(res.Output, "has not run yet") ||
		!strings.Contains(res.Output, "made after I read a web page, so its runs may do less") {
		t.Errorf("%+v", res)
	}
	alone := call
	alone.Session.Alone = true
	made := len(r.jobs)
	if res := d.AddJob(t.Context(), alone, tools.NewJob{Kind: tools.JobTask, When: "tomorrow at 9", Text: "Go on."}); res.Code != "not_permitted" || len(r.jobs) != made {
		t.Errorf("a job that has read the web makes jobs: %+v", res)
	}
	if alone.Taint = tools.Clean; d.AddJob(t.Context(), alone, tools.NewJob{Kind: tools.JobTask, When: "tomorrow at 9", Text: "Go on."}).End != tools.EndOK {
		t.Error("a job that has read nothing may make none")
	}
	byOthers := call
	byOthers.Taint, r.jobs[0].Taint = "others", ""
	if res := d.ChangeJob(t.Context(), byOthers, tools.JobEdit{Job: 1, Action: "edit", Text: "Read them."}); res.End != tools.EndOK ||
		r.jobs[0].Taint != "others" {
		t.Errorf("edited after reading others: %+v, %+v", res, r.jobs[0])
	}
	if res := d.ChangeJob(t.Context(), call, tools.JobEdit{Job: 9, Action: "remove"}); res.Code != "not_found" {
		t.Errorf("%+v", res)
	}
	if res := d.ChangeJob(t.Context(), call, tools.JobEdit{Job: 1, Action: "remove"}); res.End != tools.EndOK || r.jobs[0].State != scheduler.JobRemoved {
		t.Errorf("%+v", res)
	}
	byAdmin.Taint, r.runs = "", []scheduler.Run{{Slot: now.Add(-59 * time.Second), State: scheduler.RunRunning}}
	d.AddJob(t.Context(), byAdmin, tools.NewJob{Kind: tools.JobTask, When: "every hour", Text: "Run yourself."})
	again := tools.JobEdit{Job: int64(len(r.jobs)), Action: "run"}
	if res := d.ChangeJob(t.Context(), byAdmin, again); res.Code != "too_often" {
		t.Errorf("run twice within a minute: %+v", res)
	}
	r.runs[0].Slot = now.Add(-time.Minute)
	if res := d.ChangeJob(t.Context(), byAdmin, again); res.End != tools.EndOK {
		t.Errorf("run again: %+v", res)
	}
	d.Begins = func(scheduler.Payload) bool { return false }
	if res := d.ChangeJob(t.Context(), byAdmin, again); !strings.Contains(res.Output, "It runs when you start") {
		t.Errorf("run where none is begun: %+v", res)
	}
	d.Settings = func() jobs.Settings { return jobs.Settings{} }
	job := tools.NewJob{Kind: tools.JobRemind, When: "tomorrow at 9", Text: "x"}
	if res := d.AddJob(t.Context(), call, job); res.Code != "unavailable" || !strings.Contains(res.Output, "[scheduler] enabled = false") {
		t.Errorf("switched off: %+v", res)
	}
	if c, err := d.Add(t.Context(), "ann", true, job); c != nil || err == nil || !strings.Contains(err.Error(), "[scheduler] enabled = false") {
		t.Errorf("switched off, on the command line: %+v, error %v", c, err)
	}
	if answer := give(t, d, &r, ann, chat, "remind tomorrow at 9 x"); answer.Change != nil || !strings.Contains(unescaped(answer.Text), "[scheduler] enabled = false") {
		t.Errorf("switched off, in a chat: %+v", answer)
	}
}

func TestNotificationsAreReadByBeingShown(t *testing.T) {
	t.Parallel()
	r := rows{told: []jobs.Notification{{ID: 2, Text: "call Ann", Taint: "web", At: now}, {ID: 1, Text: "tea", At: now, Read: now}}}
	d := newDesk(&r)
	for _, c := range d.Commands() {
		if c.Name != "notifications" {
			continue
		}
		call := &commands.Call{Event: &channels.Event{Conversation: chat}, Person: ann, Name: c.Name, Slash: "/", TimeZone: ann.TimeZone}
		answer, err := c.Run(t.Context(), call)
		read, ok := answer.Change.(*jobs.NotificationsRead)
		if err != nil || !ok || !slices.Equal(read.IDs, []int64{2}) || strings.Contains(answer.Text, "tea") || answer.Taint != "web" {
			t.Errorf("%+v, error %v", answer, err)
		}
		call.Args = "all"
		if answer, err := c.Run(t.Context(), call); err != nil || !strings.Contains(answer.Text, "**new** Mon 23 Nov 11:00 CET: call Ann") || !strings.Contains(answer.Text, "tea") {
			t.Errorf("%+v, error %v", answer, err)
		}
	}
	if answer := give(t, d, &r, ann, club, "notifications"); !strings.Contains(answer.Text, "in a direct chat") {
		t.Errorf("in a group: %+v", answer)
	}
}
