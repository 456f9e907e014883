package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// mostWhen is the longest time in words with a text beside it, in bytes: to read words takes time.
	mostWhen = mostText + 200
	// leastPause is the shortest time between two slots of a job, and for which a reminder is snoozed.
	leastPause = time.Minute
)

// Deps are what a Service needs.
type Deps struct {
	Ledger Ledger
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

// A Service takes what people want of jobs, whether they type a command or ask for it in their words.
type Service struct{ Deps }

// A fault says why nothing was done.
type fault struct {
	code    string // for tools
	text    string
	hint    string // for tools
	choices []choice
}

// A choice is what may have been meant: its label, and the time with all that belongs to it.
type choice struct{ label, when string }

func (f *fault) Error() string {
	text := f.text
	for _, c := range f.choices {
		text += "\n- " + c.when
	}
	return text
}

func faulty(code, format string, args ...any) *fault {
	return &fault{code: code, text: fmt.Sprintf(format, args...)}
}

// A wish is a job as somebody wants it.
type request struct {
	payload          scheduler.Payload
	when, text, zone string
	to               *channels.Conversation
	options          []string // each a name and its value
}

// add makes the change that adds a job.
func (d *Service) add(ctx context.Context, a *asking, w request) (*Change, error) {
	if off := d.WhenOff(); off != "" {
		return nil, faulty("unavailable", "%s", off)
	}
	w.when, w.text = d.Hide(w.when), d.Hide(w.text)
	when, text, err := d.time(ctx, a, w)
	if err != nil {
		return nil, err
	}
	if text == "" {
		what := "What shall I do %s? Write the time again with the task after it, as in “every weekday at 8 list files”."
		if w.payload == scheduler.PayloadNotify {
			what = "What shall I remind you of %s? Write the time again with the text after it, as in “tomorrow at 9 to call Ann”."
		}
		return nil, faulty("no_text", what, words.OneLine(when.Said, 80))
	}
	to := &a.conv
	if w.to != nil {
		to = w.to
	}
	job := &scheduler.Job{
		Owner: a.person.Name, Payload: w.payload, Text: text, Spec: when.Spec, Taint: string(a.taint), State: scheduler.JobActive,
		Target: target(to), Rules: scheduler.Rules{Approved: w.payload == scheduler.PayloadSend},
	}
	if to == &a.conv && to.Kind != channels.Direct {
		job.Rules.Asked = string(a.message)
	}
	if err := d.set(a, job, w.options); err != nil {
		return nil, err
	}
	return &Change{Kind: AddJob, Job: job, Target: to}, d.mayRun(job)
}

// edit makes the change that gives a job another time, text or option.
func (d *Service) edit(ctx context.Context, a *asking, id int64, w request) (*Change, error) {
	w.when, w.text = d.Hide(w.when), d.Hide(w.text)
	job, err := d.job(ctx, a, id)
	switch {
	case err != nil:
		return nil, err
	case job.State == scheduler.JobRemoved:
		return nil, deleted(id)
	case job.Owner == "":
		return nil, faulty("refused", "Job %d is the program's own; its time and work are fixed.", id)
	case w.when == "" && w.text == "" && w.zone == "" && len(w.options) == 0:
		return nil, faulty("bad_arguments", "Say a new time, a new text, or an option: %s.", scheduler.OptionNames())
	case w.when == "" && len(w.text) > mostText:
		return nil, tooLong()
	}
	if err := a.mayChange(job); err != nil {
		return nil, err
	}
	if w.when != "" {
		if w.zone == "" && a.zone == "" {
			w.zone = job.Spec.Zone
		}
		jitter := job.Spec.Jitter
		when, text, err := d.time(ctx, a, w)
		if err != nil {
			return nil, err
		}
		job.Spec, w.text = when.Spec, text
		job.Spec.Jitter = jitter // the words of a time do not say it
	} else if w.zone != "" {
		w.options = append([]string{"timezone " + w.zone}, w.options...)
	}
	if err := d.set(a, job, w.options); err != nil {
		return nil, err
	}
	job.Text = cmp.Or(w.text, job.Text)
	job.Taint = string(tools.Taint(job.Taint).Join(a.taint))
	return &Change{Kind: EditJob, ID: id, Of: a.whose(), Job: job, NewTime: w.when != ""}, d.mayRun(job)
}

func tooLong() *fault {
	return faulty("too_long", "The text is too long; a job takes %d bytes.", mostText)
}

// job is a job of whoever asks.
func (d *Service) job(ctx context.Context, a *asking, id int64) (*scheduler.Job, error) {
	job, err := d.Ledger.Job(ctx, id, a.whose())
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

// Unknown says to whoever runs the program that no job has that number.
func Unknown(id int64) error {
	return fmt.Errorf("there is no job %d; \"switchboard job list --all\" lists them", id)
}

// UnknownPerson says to whoever runs the program that nobody is called so.
func UnknownPerson(name string) error {
	return fmt.Errorf("there is no person %q; \"switchboard person list\" names them", name)
}

// time reads when a job is due, and what stands beside that where the wish has no text.
func (d *Service) time(ctx context.Context, a *asking, w request) (read scheduler.When, text string, err error) {
	now, when := d.Now(), strings.TrimSpace(w.when)
	zone := cmp.Or(w.zone, a.zone)
	if first, rest, _ := strings.Cut(when, " "); w.zone == "" && (first == "UTC" || strings.Contains(first, "/")) {
		if named, err := words.Zone(first); err == nil { // "Europe/Rome tomorrow at 9"
			zone, w.zone, when = named, named, rest
		}
	}
	if w.zone != "" { // one that is kept already is taken as it is, such as an EST of the settings
		if zone, err = words.Zone(w.zone); err != nil {
			return read, "", faulty("bad_time", "%v", err)
		}
	}
	if len(when) > mostWhen {
		return read, "", tooLong()
	}
	if read, err = scheduler.Read(when, now, zone); err != nil {
		return read, "", unread(err, w)
	}
	text = strings.TrimSpace(w.text)
	switch rest := whatOf(read.Rest); {
	case text == "":
		text = cmp.Or(rest, read.Says)
	case rest != "":
		return read, "", faulty("bad_time", "I read the time as %s, and do not know what %q has to do with it.", read.Spec.Words(), words.OneLine(rest, 60))
	}
	spec := &read.Spec
	first, ok := spec.Next(now)
	if err := spec.Check(); err != nil {
		return read, "", faulty("bad_time", "That is no time that a job can have: %v", err)
	} else if !ok {
		return read, "", faulty("past", "That time is in the past: %s.", spec.String())
	}
	if len(text) > mostText {
		return read, "", tooLong()
	}
	spec.Assumed = w.zone == "" && !a.known && !a.machine && zone == "UTC" && matters(when, now, first)
	return read, text, nil
}

// matters: in another zone a time would be another one.
func matters(when string, now, first time.Time) bool {
	elsewhere, err := scheduler.Read(when, now, "Pacific/Kiritimati")
	if err != nil {
		return true
	}
	then, ok := elsewhere.Spec.Next(now)
	return !ok || !then.Equal(first)
}

// unread says why a time was not read.
func unread(err error, w request) *fault {
	if several, ok := errors.AsType[*scheduler.Ambiguous](err); ok {
		f := &fault{code: "ambiguous", text: cmp.Or(several.Why, "That may be one of several times; which do you mean?")}
		for _, c := range several.Choices {
			f.choices = append(f.choices, choice{c.Words, typed(w.zone, c.Words, cmp.Or(w.text, whatOf(c.When.Rest)))})
		}
		return f
	}
	if past, ok := errors.AsType[*scheduler.PastError](err); ok {
		return faulty("past", "%s", past.Reason)
	}
	return faulty("bad_time", "%v", err)
}

// whatOf is what a reminder says: "to call Ann" is to be read as "call Ann".
func whatOf(rest string) string {
	rest = strings.TrimSpace(rest)
	for _, lead := range []string{"to ", "that ", "about ", ": ", "– ", "- ", ", "} {
		if len(rest) > len(lead) && strings.EqualFold(rest[:len(lead)], lead) {
			return strings.TrimSpace(rest[len(lead):])
		}
	}
	return rest
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

// typed is what somebody would write for a time and a text, with a colon between them: the text may begin as a
// time does.
func typed(zone, when, text string) string {
	if text != "" {
		when += ":"
	}
	return strings.Join(slices.DeleteFunc([]string{zone, when, text}, func(p string) bool { return p == "" }), " ")
}
