package jobs_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
)

// submitter notes what is submitted, and answers as it is told to.
type submitter struct {
	got    jobs.Submission
	answer jobs.Submitted
	err    error
}

func (s *submitter) Submit(_ context.Context, got jobs.Submission) (jobs.Submitted, error) {
	s.got = got
	return s.answer, s.err
}

var slot = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

func due(payload scheduler.Payload) scheduler.DueRun {
	return scheduler.DueRun{
		Job: scheduler.Job{
			ID: 3, Owner: "ann", Payload: payload, Text: "/call *Bob*", Spec: scheduler.Spec{At: "2026-12-01T09:00:00", Zone: "Europe/Rome"},
			Target: scheduler.Target{Channel: "telegram", Conversation: "7"}, Taint: "web",
			Rules: scheduler.Rules{Model: "m", Budget: 0.1, NoWeb: true, Approved: true},
		},
		Run: scheduler.Run{ID: 9, JobID: 3, Slot: slot, Try: 2},
	}
}

// What a run becomes is known by its key and its rule, under the taint of its job, whatever it does.
func TestRunIsSubmittedAsWhatItsJobDoes(t *testing.T) {
	t.Parallel()
	base := jobs.Submission{
		Key: "run:3:1796112000000000:2", Origin: "job", Person: "ann", Rule: audit.RuleJob, Taint: "web", Run: 9, Try: 2,
		To: channels.Conversation{Channel: "telegram", ID: "7"},
	}
	for payload, want := range map[scheduler.Payload]func(*jobs.Submission){
		scheduler.PayloadNotify: func(s *jobs.Submission) {
			from, escaped := "\n\n(made after I read a web page)", "\n\n\\(made after I read a web page\\)"
			s.Say, s.Notification, s.Text = true, "Reminder: /call *Bob*"+from, `Reminder: \/call \*Bob\*`+escaped
			s.InGroup = `Reminder for **ann**: \/call \*Bob\*` + escaped
			s.Buttons = []core.Button{
				{Label: "10 min", Command: "jobs 3 snooze 10m", Either: true},
				{Label: "1 h", Command: "jobs 3 snooze 1h", Beside: true, Either: true},
				{Label: "Tomorrow", Command: "jobs 3 snooze tomorrow", Beside: true, Either: true},
			}
		},
		scheduler.PayloadSend: func(s *jobs.Submission) { s.Say, s.Abroad, s.Text = true, true, `\/call \*Bob\*` },
		scheduler.PayloadAgent: func(s *jobs.Submission) {
			s.Text = "/call *Bob*"
			s.Terms = agent.Limits{NoWeb: true, NoQuestions: true, NoApprovals: true, Silent: true, Model: "m", Budget: 0.1, Run: 9}
		},
	} {
		var to submitter
		starter := &jobs.Starter{Router: &to, Now: func() time.Time { return slot.Add(time.Second) }}
		said, err := starter.Start(t.Context(), due(payload))
		wanted := base
		want(&wanted)
		if err != nil || said != (scheduler.NotStarted{}) || !reflect.DeepEqual(to.got, wanted) {
			t.Errorf("%s: %+v, error %v, submitted\n%+v, want\n%+v", payload, said, err, to.got, wanted)
		}
	}
}

// In a group a reminder names whom it is for as people know them, and replies to what they wrote.
func TestReminderInAGroupReachesItsPerson(t *testing.T) {
	t.Parallel()
	var to submitter
	starter := &jobs.Starter{Router: &to, Now: time.Now, Named: func(_ context.Context, _ channels.Conversation, asked channels.MessageID, person string) string {
		return map[string]string{"telegram:5 m7": "Bob Noyce"}[person+" "+string(asked)]
	}}
	run := due(scheduler.PayloadNotify)
	run.Job.Owner, run.Job.Rules.Asked = "telegram:5", "m7"
	if _, err := starter.Start(t.Context(), run); err != nil || to.got.ReplyTo != "m7" || !strings.HasPrefix(to.got.InGroup, "Reminder for **Bob Noyce**: ") {
		t.Errorf("%+v, %v", to.got, err)
	}
	run.Job.Owner = "ann"
	if _, err := starter.Start(t.Context(), run); err != nil || !strings.HasPrefix(to.got.InGroup, "Reminder for **ann**: ") {
		t.Errorf("%+v, %v", to.got, err)
	}
}

// What an admin allowed counts while they are one, or the owner is.
func TestWhatAnAdminAllowedEndsWithTheirRole(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]bool{"": false, "root": true, "former": false, "machine:": true, "ann": false} {
		var to submitter
		w := &world{file: "Is the backup there?"}
		starter := &jobs.Starter{Router: &to, Now: time.Now, Heartbeats: &jobs.Heartbeats{
			Store: w, Admins: func() []string { return []string{"root"} }, Checklist: func(string) ([]byte, error) { return []byte(w.file), nil },
		}}
		run := due(scheduler.PayloadHeartbeat)
		run.Job.Rules.BudgetBy, run.Job.Rules.FileBy, run.Job.Rules.File = by, by, "list.md"
		if none, err := starter.Start(t.Context(), run); err != nil || none != (scheduler.NotStarted{}) {
			t.Fatalf("%q: %+v, %v", by, none, err)
		}
		if to.got.Terms.Allowed != want || strings.Contains(to.got.Text, w.file) != want {
			t.Errorf("by %q: allowed %v, asked %q", by, to.got.Terms.Allowed, to.got.Text)
		}
		run.Job.Owner = "root"
		if _, err := starter.Start(t.Context(), run); err != nil || to.got.Terms.Allowed != (by != "") || !strings.Contains(to.got.Text, w.file) {
			t.Errorf("of an admin, by %q: allowed %v, asked %q, %v", by, to.got.Terms.Allowed, to.got.Text, err)
		}
	}
}

func TestLateRunSaysWhenItWasDue(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]string{
		2 * time.Second: "Reminder: /call *Bob*",
		3 * time.Second: "Reminder: /call *Bob*\n\n(was due on Tue 1 Dec 2026 09:00, Europe/Rome)",
		48 * time.Hour:  "Reminder: /call *Bob*\n\n(was due on Tue 1 Dec 2026 09:00, Europe/Rome)",
	} {
		var to submitter
		starter := &jobs.Starter{Router: &to, Now: func() time.Time { return slot.Add(late) }}
		clean := due(scheduler.PayloadNotify)
		clean.Job.Taint = ""
		if _, err := starter.Start(t.Context(), clean); err != nil || shows(to.got.Text) != want || to.got.Notification != want {
			t.Errorf("%s late: %q, kept %q, error %v", late, to.got.Text, to.got.Notification, err)
		}
		_, mark, _ := strings.Cut(want, "\n\n")
		if _, err := starter.Start(t.Context(), due(scheduler.PayloadAgent)); err != nil || to.got.Text != "/call *Bob*" || to.got.Terms.Late != mark {
			t.Errorf("a task %s late: %q, %+v, error %v", late, to.got.Text, to.got.Terms, err)
		}
	}
}

func shows(markdown string) string { return render.Parse(markdown).Plain() }

// What a person wrote is said as they wrote it.
func TestRemindersSayTheirCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Price 5*3*2 = 30, file __init__.py and ~~no~~ # 1", "[l](http://x.y) &amp; <b> `q` \\*", "# a\n- b\n1. c\n> d\n===", "https://x.y/a_b?c=d&e",
		"list:\n\n\u00a0\u00a0\u00a0\u00a0a*b",
	} {
		var to submitter
		starter := &jobs.Starter{Router: &to, Now: func() time.Time { return slot }}
		run := due(scheduler.PayloadNotify)
		run.Job.Taint, run.Job.Text = "", strings.ReplaceAll(text, "\u00a0", " ")
		if _, err := starter.Start(t.Context(), run); err != nil || shows(to.got.Text) != "Reminder: "+text || to.got.Notification != "Reminder: "+run.Job.Text {
			t.Errorf("%q, kept %q, error %v", shows(to.got.Text), to.got.Notification, err)
		}
		run.Job.Payload = scheduler.PayloadSend
		if _, err := starter.Start(t.Context(), run); err != nil || shows(to.got.Text) != text {
			t.Errorf("a message: %q, error %v", shows(to.got.Text), err)
		}
	}
}

// Rights are those of the moment: who lost them has the job paused, and a full queue skips the run alone.
func TestRefusedRunIsSkippedOrPausesItsJob(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]scheduler.NotStarted{
		jobs.RefusedBusy + ": full":         {State: scheduler.RunSkipped, Reason: "busy: full"},
		jobs.RefusedPerson + ": gone":       {State: scheduler.RunFailed, Reason: "person: gone", Pause: true},
		jobs.RefusedRights + ": not there":  {State: scheduler.RunFailed, Reason: "rights: not there", Pause: true},
		jobs.RefusedConversation + ": shut": {State: scheduler.RunFailed, Reason: "conversation: shut", Pause: true},
	} {
		starter := &jobs.Starter{Router: &submitter{answer: jobs.Submitted{Refused: refused}}, Now: time.Now}
		if said, err := starter.Start(t.Context(), due(scheduler.PayloadAgent)); err != nil || said != want {
			t.Errorf("%s: %+v, error %v", refused, said, err)
		}
	}
	away := errors.New("away")
	starter := &jobs.Starter{Router: &submitter{err: away}, Now: time.Now}
	if said, err := starter.Start(t.Context(), due(scheduler.PayloadAgent)); !errors.Is(err, away) || said != (scheduler.NotStarted{}) {
		t.Errorf("%+v, error %v", said, err)
	}
	said, err := starter.Start(t.Context(), due(scheduler.PayloadMaintenance))
	if err != nil || said.State != scheduler.RunFailed || said.Pause {
		t.Errorf("of a payload that is nobody's: %+v, error %v", said, err)
	}
}
