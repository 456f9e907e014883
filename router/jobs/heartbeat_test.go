package jobs_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
)

// A world is what a heartbeat may see.
type world struct {
	news  jobs.News
	file  string
	fault error
	job   scheduler.Job
	chats []core.Chat // of admins
}

func (w *world) News(_ context.Context, _ int64, _ string, since *jobs.News) (jobs.News, error) {
	n := w.news
	if since == nil {
		n.Messages, n.Notifications, n.Failures = 0, 0, nil
	} else {
		n.Messages, n.Notifications = int(n.Message-since.Message), int(n.Notification-since.Notification)
	}
	return n, nil
}

func (w *world) Chat(_ context.Context, conv channels.Conversation) (core.Chat, error) {
	if conv.ID == "roots" {
		return core.Chat{Person: "root"}, nil
	}
	return core.Chat{}, core.ErrNotFound
}

func (w *world) AdminChats(context.Context) ([]core.Chat, error) { return w.chats, nil }

func (w *world) beat(t *testing.T, try int) (asked string) {
	t.Helper()
	h := &jobs.Heartbeats{
		Store: w, Admins: func() []string { return []string{"ann", "root"} },
		Checklist: func(name string) ([]byte, error) {
			if w.file == "" && w.fault == nil {
				return nil, fs.ErrNotExist
			}
			return []byte(w.file), w.fault
		},
	}
	asked, seen, err := h.Beat(t.Context(), &w.job, try)
	if err != nil {
		t.Fatal(err)
	}
	w.job.Seen = seen
	return asked
}

func TestHeartbeatIsFreeWhereNothingChanged(t *testing.T) {
	t.Parallel()
	w := &world{job: scheduler.Job{ID: 7, Name: "heartbeat", Rules: scheduler.Rules{File: "list.md"}}, news: jobs.News{Message: 10}}
	quiet := func(when string) {
		t.Helper()
		for range 3 {
			if asked := w.beat(t, 1); asked != "" {
				t.Errorf("%s: asked %q", when, asked)
			}
		}
	}
	looks := func(when, want string) {
		t.Helper()
		if asked := w.beat(t, 1); !strings.Contains(asked, want) {
			t.Errorf("%s: asked\n%s\nwant %q", when, asked, want)
		}
		quiet("after " + when)
	}
	quiet("at first")
	w.news.Message = 12
	looks("messages", "- 2 new messages\n")
	w.news.Notification = 1
	looks("a reminder", "- 1 reminder came due\n")
	w.file = "Is the backup there?"
	looks("a checklist", "- the checklist was changed\n\nThe checklist:\nIs the backup there?\n")
	w.file = "Is the backup there, and whole?"
	looks("another checklist", "and whole?\n")
	w.news.Failures = []jobs.Failure{{Job: 3, Reason: "rights: what somebody is called", At: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)}}
	if asked := w.beat(t, 1); !strings.Contains(asked, "- job 3 failed at 2026-11-23 08:00 UTC: rights\n") {
		t.Errorf("a failed job: asked\n%s", asked)
	}
	w.news.Failures = nil
	quiet("after a failed job")
	w.news.Health = `{"disk@atlas":{"ill":true,"since":"2026-11-23T08:00:00Z","text":"The disk is full."},"cpu@atlas":{"looks":1}}`
	looks("a full disk", "- not well: The disk is full. (since 23 November 08:00 UTC)\n")
	w.news.Health = `{"cpu@atlas":{"looks":2}}`
	looks("room again", "- well again: The disk is full.")
}

func TestHeartbeatsOfItsOwn(t *testing.T) {
	t.Parallel()
	w := &world{job: scheduler.Job{Owner: "dan", Text: "Is there mail?"}, news: jobs.News{Health: `{"disk@a":{"ill":true,"text":"full"}}`}}
	if asked := w.beat(t, 1); !strings.Contains(asked, "\n\nIs there mail?\n") || strings.Contains(asked, "full") {
		t.Errorf("the first of one with a text of its own: %s", asked)
	}
	if asked := w.beat(t, 1); asked != "" {
		t.Errorf("the second: %s", asked)
	}
	if w.beat(t, 2) == "" { // its turn failed: what it was about stands there no more
		t.Error("nothing is asked when it is tried again")
	}
	w.job.Rules.File, w.job.Rules.FileBy, w.fault = "list.md", "machine:", errors.New("disk trouble")
	h := &jobs.Heartbeats{Store: w, Admins: func() []string { return nil }, Checklist: func(string) ([]byte, error) { return nil, w.fault }}
	if _, _, err := h.Beat(t.Context(), &w.job, 1); !errors.Is(err, w.fault) {
		t.Errorf("with a checklist that cannot be read: %v", err)
	}
}

// The program's own heartbeat speaks where the settings say, or to an admin, under an admin's rights.
func TestHeartbeatOfTheProgramIsAnAdmins(t *testing.T) {
	t.Parallel()
	roots := channels.Conversation{Channel: "tg", ID: "roots"}
	group := channels.Conversation{Channel: "tg", ID: "ops"}
	for name, c := range map[string]struct {
		target, to string
		chats      []channels.Conversation
		admins     []string
		person     string
	}{
		"nowhere":             {admins: []string{"ann"}},
		"no admin":            {target: "ops"},
		"an admin's chat":     {chats: []channels.Conversation{roots}, admins: []string{"ann", "root"}, to: "roots", person: "root"},
		"a chat of the file":  {target: "roots", admins: []string{"ann", "root"}, to: "roots", person: "root"},
		"a group of the file": {target: "ops", chats: []channels.Conversation{roots}, admins: []string{"ann", "root"}, to: "ops", person: "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{news: jobs.News{Message: 5}}
			h := &jobs.Heartbeats{
				Store: w, Admins: func() []string { return c.admins },
				AdminChats: func(context.Context) ([]channels.Conversation, error) { return c.chats, nil },
				Checklist:  func(string) ([]byte, error) { return []byte("mail?"), nil },
			}
			due := &scheduler.DueRun{Job: scheduler.Job{Rules: scheduler.Rules{File: "list.md"}}, Run: scheduler.Run{Try: 1}}
			var work jobs.Submission
			if c.target != "" {
				due.Job.Target = scheduler.Target{Channel: "tg", Conversation: c.target}
				work.To = map[string]channels.Conversation{"roots": roots, "ops": group}[c.target]
			}
			none, err := h.Fill(t.Context(), due, &work)
			if err != nil || (none.State == "") != (c.person != "") {
				t.Fatalf("%+v, %v", none, err)
			}
			if c.person == "" {
				w.chats = []core.Chat{{}}
				if _, err := h.Fill(t.Context(), due, &work); (err != nil) != (c.target == "") {
					t.Errorf("with the admin's chat on another engine: %v", err)
				}
				if none.State != scheduler.RunSkipped || none.Seen != "" {
					t.Errorf("%+v", none)
				}
				return
			}
			if work.Person != c.person || string(work.To.ID) != c.to || !work.Terms.Quiet || !strings.Contains(work.Text, "mail?") || work.Seen == "" {
				t.Errorf("%+v", work)
			}
			due.Job.Seen = work.Seen
			if none, err := h.Fill(t.Context(), due, &work); err != nil || none.State != scheduler.RunDone || none.Reason != "nothing changed" {
				t.Errorf("again: %+v, %v", none, err)
			}
		})
	}
}

func TestHeartbeatIsSubmittedAsAQuietTurn(t *testing.T) {
	t.Parallel()
	var to submitter
	w := &world{}
	starter := &jobs.Starter{
		Router: &to, Now: func() time.Time { return slot.Add(time.Hour) },
		Heartbeats: &jobs.Heartbeats{Store: w, Admins: func() []string { return nil }},
	}
	beat := due(scheduler.PayloadHeartbeat)
	if none, err := starter.Start(t.Context(), beat); err != nil || none != (scheduler.NotStarted{}) {
		t.Fatalf("%+v, %v", none, err)
	}
	want := agent.Limits{NoWeb: true, NoQuestions: true, NoApprovals: true, Quiet: true, Silent: true, Model: "m", Budget: 0.1, Run: 9}
	if to.got.Terms != want || to.got.Seen == "" || to.got.Person != "ann" || to.got.Say {
		t.Errorf("%+v", to.got)
	}
	beat.Job.Seen, beat.Run.Try, to.got = to.got.Seen, 1, jobs.Submission{}
	if none, err := starter.Start(t.Context(), beat); err != nil || none.State != scheduler.RunDone || to.got.Key != "" {
		t.Errorf("with nothing new: %+v, %v, submitted %+v", none, err, to.got)
	}
}
