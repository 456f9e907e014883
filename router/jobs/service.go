package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/scheduler"
)

const (
	// mostRead is how many jobs are read to find those of a group.
	mostRead = 1000
	// mostText is the longest text of a job, in bytes.
	mostText = 8000
	// mostWhen is the longest time in words with a text, in bytes: to read words takes time.
	mostWhen = mostText + 200
	// leastPause is the shortest time between two slots of a job, and for which a reminder is snoozed.
	leastPause = time.Minute
)

// A Service takes what people want of jobs, whether they type a command or ask for it in their words.
type Service struct {
	Store Store
	// Person is somebody who is known, by name; nil: nobody is.
	Person func(name string) *core.Person
	// Chat is a conversation that has a session. ErrNotFound.
	Chat func(ctx context.Context, session string) (channels.Conversation, error)
	// FindRecipient is to whom person may have us write by a name; a refusal says why to nobody.
	FindRecipient func(ctx context.Context, person *core.Person, to string) (conv channels.Conversation, name string, refusal *tools.Result)
	// Change makes a change for a tool.
	Change func(context.Context, core.Change, core.Actor) error
	// Zone is the time zone in which a person reads times in a conversation.
	Zone func(ctx context.Context, conv channels.Conversation, person *core.Person) (string, error)
	// Hide takes out of a text the secrets that are known, and what has the shape of a credential.
	Hide func(text string) string
	// Settings are those that count now.
	Settings func() Settings
	// Begins says that this process begins jobs of that payload when they are due.
	Begins func(scheduler.Payload) bool
	Now    func() time.Time
}

// Settings are what a Service goes by.
type Settings struct {
	Enabled  bool // [scheduler] enabled
	Models   []string
	Unpriced []string // why nobody knows what some of them cost
	PerRun   float64  // [budget] per_job_run
}

// A request is a job as somebody wants it.
type request struct {
	payload          scheduler.Payload
	when, text, zone string
	to               *channels.Conversation // nil: where it is asked for
	options          []string               // each a name and its value
}

// hide takes the secrets out of a request.
func (d *Service) hide(r request) request {
	r.when, r.text = d.Hide(r.when), d.Hide(r.text)
	return r
}

// add makes the change that adds a job.
func (d *Service) add(a *caller, r request) (*Change, error) {
	if off := d.WhenOff(); off != "" {
		return nil, faulty("unavailable", "%s", off)
	}
	when, err := d.when(a, d.hide(r))
	if err != nil {
		return nil, err
	}
	if when.Rest == "" {
		what := "What shall I do %s? Write the time again with the task after it, as in “every weekday at 8 list files”."
		if r.payload == scheduler.PayloadNotify {
			what = "What shall I remind you of %s? Write the time again with the text after it, as in “tomorrow at 9 to call Ann”."
		}
		return nil, faulty("no_text", what, words.OneLine(when.Said, 80))
	}
	job := &scheduler.Job{
		Owner: a.person.Name, Payload: r.payload, Text: when.Rest, Spec: when.Spec, Taint: string(a.taint), State: scheduler.JobActive,
		Rules: scheduler.Rules{Approved: r.payload == scheduler.PayloadSend},
	}
	if r.to == nil {
		if r.to = &a.conv; a.conv.Kind != channels.Direct {
			job.Rules.Asked = string(a.message)
		}
	}
	job.Target = target(r.to)
	if err := d.set(a, job, r.options); err != nil {
		return nil, err
	}
	return &Change{Kind: AddJob, Job: job, Target: r.to}, d.mayRun(job)
}

// edited makes the change that an edit asks for.
func (d *Service) edited(ctx context.Context, a *caller, edit tools.JobEdit) (*Change, error) {
	switch edit.Action {
	case string(EditJob):
		return d.edit(ctx, a, edit.Job, request{when: edit.When, text: edit.Text, zone: edit.Zone, options: edit.Options})
	case "set":
		return d.edit(ctx, a, edit.Job, request{options: []string{edit.Text}})
	}
	return d.change(ctx, a, edit.Job, ChangeKind(edit.Action), edit.Text)
}

// edit makes the change that gives a job another time, text or option.
func (d *Service) edit(ctx context.Context, a *caller, id int64, r request) (*Change, error) {
	r = d.hide(r)
	job, err := d.job(ctx, a, id)
	switch {
	case err != nil:
		return nil, err
	case job.State == scheduler.JobRemoved:
		return nil, deleted(id)
	case job.Owner == "":
		return nil, faulty("refused", "Job %d is the program's own; its time and work are fixed.", id)
	case r.when == "" && r.text == "" && r.zone == "" && len(r.options) == 0:
		return nil, faulty("bad_arguments", "Say a new time, a new text, or an option: %s.", scheduler.OptionNames())
	case r.when == "" && len(r.text) > mostText:
		return nil, tooLong()
	}
	if err := a.mayChange(job); err != nil {
		return nil, err
	}
	if r.when != "" {
		if r.zone == "" && a.zone == "" {
			r.zone = job.Spec.Zone
		}
		jitter := job.Spec.Jitter
		when, err := d.when(a, r)
		if err != nil {
			return nil, err
		}
		job.Spec, r.text = when.Spec, when.Rest
		job.Spec.Jitter = jitter // the words of a time do not say it
	} else if r.zone != "" {
		r.options = append([]string{"timezone " + r.zone}, r.options...)
	}
	if err := d.set(a, job, r.options); err != nil {
		return nil, err
	}
	job.Text = cmp.Or(r.text, job.Text)
	job.Taint = string(tools.Taint(job.Taint).Join(a.taint))
	return &Change{Kind: EditJob, ID: id, Of: a.whose(), Job: job, NewTime: r.when != ""}, d.mayRun(job)
}

// job is a job of the person who asks.
func (d *Service) job(ctx context.Context, a *caller, id int64) (*scheduler.Job, error) {
	job, err := d.Store.Job(ctx, id, a.whose())
	if errors.Is(err, core.ErrNotFound) && a.machine {
		return nil, Unknown(id)
	} else if errors.Is(err, core.ErrNotFound) || err == nil && !a.here(job) {
		what := "job"
		if a.tool { // nobody typed the word
			what = "reminder or job"
		}
		return nil, faulty("not_found", "You have no %s %d. \"%sjobs\" lists what you have.", what, id, a.slash)
	}
	return job, err
}

// mayRun refuses a job that would run more often than anybody wants, and a heartbeat that would beat once.
func (d *Service) mayRun(job *scheduler.Job) error {
	if job.Payload == scheduler.PayloadHeartbeat && job.Spec.At != "" {
		return faulty("bad_time", "A heartbeat comes again and again: say so, as in \"every 30 minutes between 8:00 and 22:00\".")
	}
	slots := job.Spec.Upcoming(d.Now(), 5)
	for i := 1; i < len(slots); i++ {
		if slots[i].Sub(slots[i-1]) < leastPause {
			return faulty("too_often", "That is too often: between two runs there has to be at least a minute.")
		}
	}
	return nil
}

// WhenOff says that no job runs here; empty: they do.
func (d *Service) WhenOff() string {
	if d.Settings().Enabled {
		return ""
	}
	return "Jobs are switched off ([scheduler] enabled = false). I keep those there are, run only maintenance and make no new ones."
}

// change makes a change of a job that there is.
func (d *Service) change(ctx context.Context, a *caller, id int64, kind ChangeKind, more string) (*Change, error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return nil, err
	}
	c := &Change{Kind: kind, ID: id, Of: a.whose()}
	switch {
	case job.State == scheduler.JobRemoved && kind != SnoozeJob:
		return nil, deleted(id)
	case kind == RemoveJob && job.Owner == "":
		return nil, faulty("refused", "Job %d is the program's own and stays; it can be paused.", id)
	case kind == RunJob && !d.Settings().Enabled && job.Payload != scheduler.PayloadMaintenance:
		return nil, faulty("unavailable", "%s", d.WhenOff())
	case kind == RunJob:
		if err = a.mayChange(job); err == nil && a.tool {
			err = d.ranJustNow(ctx, id)
		}
	case kind == SnoozeJob:
		c.Until, err = d.snoozedUntil(a, job, more)
	}
	return c, err
}

// ranJustNow refuses a tool to run a job twice within a minute: a task could have itself run for ever.
func (d *Service) ranJustNow(ctx context.Context, id int64) error {
	runs, err := d.Store.Runs(ctx, id, 0, 10)
	for _, r := range runs {
		if err == nil && r.State != scheduler.RunSkipped && r.State != scheduler.RunMissed && d.Now().Sub(r.Slot) < leastPause {
			err = faulty("too_often", "Job %d ran within the last minute, or is about to: between two runs there has to be at least a minute.", id)
		}
	}
	return err
}

// where names the chat in which a job speaks; empty: in none.
func (d *Service) where(ctx context.Context, a *caller, job *scheduler.Job) string {
	if job.Target.Channel == "" {
		return ""
	}
	chat := channels.Conversation{Channel: job.Target.Channel, ID: channels.ConversationID(job.Target.Conversation)}
	if known, err := d.Chat(ctx, core.SessionKey(chat)); err == nil {
		chat.Kind, chat.Title = known.Kind, known.Title
	}
	return core.ChatWords(chat, a.conv)
}

// page is some jobs by number from after on, at most limit, in words too; of one person, or of everybody. More: there are others.
func (d *Service) page(ctx context.Context, a *caller, of string, after int64, limit int) (list []scheduler.Job, more bool, text string, err error) {
	read := limit + 1
	if a.conv.Kind != channels.Direct {
		read = mostRead
	}
	list, err = d.Store.Jobs(ctx, of, after, read)
	list = slices.DeleteFunc(list, func(job scheduler.Job) bool { return !a.here(&job) })
	shown := list[:min(len(list), limit)]
	return shown, len(list) > limit, d.wording().listed(shown, of == "" || a.conv.Kind != channels.Direct, after), err
}

// detail is all about a job, for who asks.
func (d *Service) detail(ctx context.Context, a *caller, job *scheduler.Job) string {
	return d.wording().detail(job, a.owners(job), d.where(ctx, a, job))
}
