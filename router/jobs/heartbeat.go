package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// heartbeatText is what a heartbeat asks that says nothing itself.
const heartbeatText = "Look at what has changed and at the checklist, if there is one. Say in a few sentences what needs a person's attention now, and nothing else."

// mostFailures is how many runs that failed are named.
const mostFailures = 10

// mostChecklist is how much of a checklist is taken, in bytes.
const mostChecklist = 16 << 10

// Heartbeats find out without a model whether there is something for one to look at.
type Heartbeats struct {
	Store Beats
	// Checklist reads a file of the folder for checklists. fs.ErrNotExist: there is none of that name.
	Checklist func(name string) ([]byte, error)
	// Admins are the names of those who are, in order.
	Admins func() []string
	// AdminChats are the direct chats of admins that this engine serves.
	AdminChats func(ctx context.Context) ([]channels.Conversation, error)
}

// seen is what a heartbeat remembers.
type seen struct {
	Message      int64    `json:"message"`
	Notification int64    `json:"notification"`
	Failed       int64    `json:"failed"`
	Checklist    string   `json:"checklist,omitempty"` // its hash
	NotWell      []string `json:"not_well,omitempty"`
}

// Beat finds out what has changed since the last one: what the model is asked then (empty: nothing has), and what the job
// remembers. The first has nothing to compare with: it is worth a look if the job asks something of its own, has a
// checklist, or something is not well. A run that is tried again has something to look at, as it had before.
func (h *Heartbeats) Beat(ctx context.Context, job *scheduler.Job, try int) (asked, remember string, err error) {
	var was seen
	var since *News
	first := json.Unmarshal([]byte(job.Seen), &was) != nil // also what cannot be read
	if !first {
		since = &News{Message: was.Message, Notification: was.Notification, Failed: was.Failed}
	}
	news, err := h.Store.News(ctx, job.ID, job.Owner, since)
	if err != nil {
		return "", "", fmt.Errorf("look what is new for heartbeat %d: %w", job.ID, err)
	}
	now := seen{Message: news.Message, Notification: news.Notification, Failed: news.Failed}
	list, err := h.checklist(job)
	if err != nil {
		return "", "", err
	}
	if list != "" {
		sum := sha256.Sum256([]byte(list))
		now.Checklist = hex.EncodeToString(sum[:8])
	}
	if job.Owner == "" || slices.Contains(h.Admins(), job.Owner) {
		now.NotWell = NotWell(news.Health)
	}
	changes := changes(&news, &was, &now)
	if len(changes) > 0 || try > 1 || first && (job.Text != "" || list != "") {
		asked = prompt(job, list, changes, &now)
	}
	text, err := json.Marshal(now)
	return asked, string(text), err
}

// Fill makes of a heartbeat's run the work that is submitted, or says why there is none.
func (h *Heartbeats) Fill(ctx context.Context, due *scheduler.DueRun, work *Submission) (none scheduler.NotStarted, err error) {
	job := &due.Job
	if job.Owner == "" {
		if none, err = h.address(ctx, job, work); err != nil || none.State != "" {
			return none, err
		}
	}
	if work.Text, work.Seen, err = h.Beat(ctx, job, due.Run.Try); err != nil {
		return none, err
	}
	if work.Text == "" {
		return scheduler.NotStarted{State: scheduler.RunDone, Reason: "nothing changed", Seen: work.Seen}, nil
	}
	work.Terms.Quiet = true
	return none, nil
}

// address says where the program's own heartbeat speaks, and under whose rights: those of the admin whose chat
// it is, or of the first one.
func (h *Heartbeats) address(ctx context.Context, job *scheduler.Job, work *Submission) (none scheduler.NotStarted, err error) {
	skipped := func(why string) (scheduler.NotStarted, error) {
		return scheduler.NotStarted{State: scheduler.RunSkipped, Reason: "nobody: " + why}, nil
	}
	if job.Target == (scheduler.Target{}) {
		var all []core.Chat
		chats, err := h.AdminChats(ctx)
		if err == nil {
			all, err = h.Store.AdminChats(ctx)
		}
		switch {
		case err != nil:
			return none, fmt.Errorf("look where the heartbeat speaks: %w", err)
		case len(chats) == 0 && len(all) > 0:
			return none, errors.New("no chat of an admin is connected here")
		case len(chats) == 0:
			return skipped("no admin has a direct chat with me; an admin has to write to me first, or heartbeat.deliver_to has to name a chat")
		}
		work.To = chats[0]
	}
	chat, err := h.Store.Chat(ctx, work.To)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return none, fmt.Errorf("look where the heartbeat speaks: %w", err)
	}
	admins := h.Admins()
	switch {
	case len(admins) == 0:
		return skipped("there is no admin")
	case slices.Contains(admins, chat.Person):
		work.Person = chat.Person
	default:
		work.Person = admins[0]
	}
	return none, nil
}

// allowed says that what an admin alone may give to a job still counts: its owner is one, or who gave it.
func (h *Heartbeats) allowed(owner, by string) bool {
	return owner == "" || by == byMachine || slices.ContainsFunc(h.Admins(), func(admin string) bool { return admin == owner || admin == by })
}

// checklist is the text of the job's checklist; empty: it has none, may have none any more, or nothing stands in it.
func (h *Heartbeats) checklist(job *scheduler.Job) (string, error) {
	if job.Rules.File == "" || !h.allowed(job.Owner, job.Rules.FileBy) {
		return "", nil
	}
	text, err := h.Checklist(job.Rules.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the checklist %s of heartbeat %d cannot be read: %w", job.Rules.File, job.ID, err)
	case len(text) > mostChecklist:
		text = append(text[:mostChecklist:mostChecklist], "\n(the rest is left out)"...)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD")), nil
}

// changes says what is different, a line each.
func changes(news *News, was, now *seen) (list []string) {
	add := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(news.Messages > 0, "%s", words.Count(news.Messages, "new message"))
	add(news.Notifications > 0, "%s came due", words.Count(news.Notifications, "reminder"))
	for _, f := range news.Failures[:min(len(news.Failures), mostFailures)] {
		name, reason := "", strings.ReplaceAll(f.Reason, "_", " ")
		if f.Name != "" {
			name = " (" + f.Name + ")"
		} else {
			reason, _, _ = strings.Cut(reason, ":") // what is behind may be somebody's words
		}
		add(true, "job %d%s failed at %s: %s", f.Job, name, f.At.Format("2006-01-02 15:04 UTC"), words.OneLine(reason, 200))
	}
	more := len(news.Failures) - mostFailures
	add(more > 0, "%d more runs of jobs failed", more)
	add(was.Checklist != now.Checklist, "the checklist was changed")
	for _, ill := range now.NotWell {
		add(!slices.Contains(was.NotWell, ill), "not well: %s", ill)
	}
	for _, ill := range was.NotWell {
		add(!slices.Contains(now.NotWell, ill), "well again: %s", ill)
	}
	return list
}

func prompt(job *scheduler.Job, checklist string, changes []string, now *seen) string {
	var t text
	fmt.Fprintf(&t, "This is a heartbeat: nobody wrote to you, and nobody waits for an answer.\n\n%s\n", cmp.Or(job.Text, heartbeatText))
	t.add(len(changes) > 0, "\nWhat has changed since the last heartbeat:\n- %s\n", strings.Join(changes, "\n- "))
	t.add(len(now.NotWell) > 0, "\nWhat is not well:\n- %s\n", strings.Join(now.NotWell, "\n- "))
	t.add(checklist != "", "\nThe checklist:\n%s\n", checklist)
	return t.String()
}

// SystemJob is the job of [heartbeat].
func SystemJob(every time.Duration, hours, zone, checklist string, to scheduler.Target) scheduler.Job {
	return scheduler.Job{
		Name: scheduler.SystemHeartbeat, Payload: scheduler.PayloadHeartbeat, Target: to,
		// One anchor whenever it is made, so that the same settings are the same job.
		Spec:  scheduler.Spec{Every: every, Anchor: time.Unix(0, 0).UTC(), Zone: zone, Hours: hours},
		Rules: scheduler.Rules{File: checklist, Misfire: scheduler.MisfireSkip},
	}
}
