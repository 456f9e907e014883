package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/scheduler"
)

// Commands are the rows of /remind, /jobs and /notifications.
func (d *Service) Commands() []commands.Command {
	return []commands.Command{
		{Name: "remind", Typed: true, Args: "WHEN WHAT", About: commands.Text{
			EN: "remind you of something, for example: tomorrow at 9 to call Ann", DE: "dich an etwas erinnern, wie in tomorrow at 9 to call Ann",
			ES: "recordarte algo, como en tomorrow at 9 to call Ann", FR: "vous rappeler quelque chose, comme dans tomorrow at 9 to call Ann",
			IT: "ricordarti qualcosa, come in tomorrow at 9 to call Ann",
		}, Run: d.remind},
		{Name: "jobs", Args: "[NUMBER|add WHEN WHAT|all]", About: commands.Text{
			EN: "your reminders, and what I do for you later or again and again", DE: "deine Erinnerungen, und was ich später oder immer wieder für dich tue",
			ES: "tus recordatorios, y lo que hago para ti más tarde o una y otra vez", FR: "vos rappels, et ce que je fais pour vous plus tard ou régulièrement",
			IT: "i tuoi promemoria, e ciò che faccio per te più tardi o di continuo",
		}, ToAdmins: commands.Text{
			EN: "your reminders and jobs; all lists everybody's", DE: "deine Erinnerungen und Aufträge; all zeigt die aller", ES: "tus recordatorios y tareas; all muestra los de todos",
			FR: "vos rappels et tâches ; all montre ceux de tous", IT: "i tuoi promemoria e lavori; all mostra quelli di tutti",
		}, Run: d.jobs},
		{Name: "notifications", Direct: true, Args: "[all]", About: commands.Text{
			EN: "what reminders told you and you have not read", DE: "was Erinnerungen dir sagten und du nicht gelesen hast", ES: "lo que te dijeron los recordatorios y no has leído",
			FR: "ce que les rappels vous ont dit et que vous n'avez pas lu", IT: "che cosa ti hanno detto i promemoria e non hai letto",
		}, Run: d.notifications},
	}
}

// asked is who gave a command, and where.
func asked(c *commands.Call) *asking {
	a := &asking{person: c.Person, conv: c.Conversation(), zone: c.TimeZone, known: cmp.Or(c.Session.TimeZone, c.Person.TimeZone) != "", slash: c.Slash}
	if c.Event.Kind == channels.EventMessage {
		a.message = c.Event.Message.ID
	}
	return a
}

// says answers a command with why nothing was done; what is no fault of anybody's stays an error.
func says(err error, retry string) (commands.Answer, error) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return commands.Answer{}, err
	}
	answer := commands.Says("%s", render.Escape(f.text))
	for _, c := range f.choices {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: c.label, Command: retry + " " + c.when, Either: true})
	}
	return answer, nil
}

func (d *Service) remind(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args == "" {
		return commands.Says("Write \"%sremind\", when, and what: \"%[1]sremind tomorrow at 9 to call Ann\", \"%[1]sremind in 20 minutes tea\", "+
			"\"%[1]sremind every weekday at 8 stand up\". \"%[1]sjobs\" lists them.", c.Slash), nil
	}
	return d.added(ctx, c, request{payload: scheduler.PayloadNotify, when: c.Args}, "remind")
}

// added answers a command that adds a job.
func (d *Service) added(ctx context.Context, c *commands.Call, w request, retry string) (commands.Answer, error) {
	change, err := d.add(ctx, asked(c), w)
	if err != nil {
		return says(err, retry)
	}
	return d.done(c, change), nil
}

// done makes a change, and answers with what the job is then.
func (d *Service) done(c *commands.Call, change *Change) commands.Answer {
	return commands.Answer{Change: change, Say: func() commands.Answer {
		job := change.Done
		answer := commands.Answer{Text: d.became(change, cmp.Or(c.Session.TimeZone, c.Person.TimeZone)), Taint: taintOf(c.Person.Name, *job)}
		switch change.Kind {
		case RemoveJob, RunJob:
		case AddJob, EditJob, SnoozeJob:
			answer.Buttons = madeButtons(job, c.Session.Language)
		default:
			answer.Buttons = []commands.Button{{Label: fmt.Sprint("Job ", job.ID), Command: fmt.Sprint("jobs ", job.ID)}}
		}
		return answer
	}}
}

// madeButtons are those under the words that a job was made.
func madeButtons(job *scheduler.Job, language string) []commands.Button {
	list := []commands.Button{
		{Label: "Change", Command: fmt.Sprintf("jobs %d when", job.ID), Beside: true}, {Label: "Cancel", Command: fmt.Sprintf("jobs %d delete", job.ID)},
	}
	if job.Spec.Assumed {
		list = append(list, cities(language)...)
	}
	return list
}

// Made are the buttons under an answer of the agent that says what a person's turn made: those of a job, where it made one.
func (d *Service) Made(ctx context.Context, made []string, person, language string) []commands.Button {
	var id int64
	if _, err := fmt.Sscanf(made[0], madeCode, &id); err != nil || len(made) > 1 {
		return nil
	}
	job, err := d.Ledger.Job(ctx, id, person)
	if err != nil || job.State != scheduler.JobActive {
		return nil
	}
	return madeButtons(job, language)
}

// likely are cities where somebody may be who speaks a language, one of each zone.
var likely = map[string][]string{
	"de": {"Berlin", "London"}, "it": {"Rome", "London"}, "es": {"Madrid", "Mexico City", "Bogota", "Buenos Aires"}, "fr": {"Paris", "Montreal"},
	"": {"London", "Berlin", "New York", "Chicago", "Los Angeles", "Kolkata"},
}

// cities are buttons that say where a person is.
func cities(language string) (buttons []commands.Button) {
	list, ok := likely[language]
	if !ok {
		list = likely[""]
	}
	for i, city := range append(slices.Clone(list), "UTC") {
		buttons = append(buttons, commands.Button{Label: city, Command: "timezone " + city, Beside: i%3 != 0})
	}
	return buttons
}

// became says what a change did, to somebody of whom made says more.
func (d *Service) became(c *Change, own string) string {
	job := c.Done
	kind := job.Payload.Kind()
	switch c.Kind {
	case PauseJob:
		return fmt.Sprintf("I paused %s %d%s", kind, job.ID, does(job, 100))
	case RemoveJob:
		return fmt.Sprintf("I removed %s %d%s", kind, job.ID, does(job, 100))
	case RunJob:
		if !d.Begins(job.Payload) {
			return fmt.Sprintf("Job %d is due now. It runs when you start \"switchboard serve\".", job.ID)
		}
		return fmt.Sprintf("I'm running %s %d now.", kind, job.ID)
	case SkipJob:
		if next := d.upcoming(job, 1); next != "" {
			return fmt.Sprintf("I'll skip the next run of %s %d. The one after that is on %s.", kind, job.ID, next)
		}
		return fmt.Sprintf("I'll skip the next run of %s %d. No other is left.", kind, job.ID)
	case SnoozeJob:
		return fmt.Sprintf("I'll remind you again on %s (%s)%s", local(c.Until, job.Spec.Zone), render.Escape(job.Spec.Zone), does(job, 100))
	case ResumeJob:
		return "Resumed. " + d.made(job, own)
	}
	return d.made(job, own)
}

// verbs are what is written behind the number of a job.
var verbs = map[string]ChangeKind{
	"pause": PauseJob, "resume": ResumeJob, "run": RunJob, "skip": SkipJob,
	"delete": RemoveJob, "remove": RemoveJob, "snooze": SnoozeJob,
}

func (d *Service) jobs(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	first, rest, _ := strings.Cut(c.Args, " ")
	rest = strings.TrimSpace(rest)
	id, err := strconv.ParseInt(first, 10, 64)
	switch verb := strings.ToLower(first); {
	case err == nil:
		return d.oneJob(ctx, c, id, rest)
	case verb == "add" && rest != "":
		return d.added(ctx, c, request{payload: scheduler.PayloadAgent, when: rest}, "jobs add")
	case verb == "heartbeat" && rest != "":
		return d.added(ctx, c, request{payload: scheduler.PayloadHeartbeat, when: rest}, "jobs heartbeat")
	case verb == "", verb == "all", verb == "after":
		return d.list(ctx, c, strings.Fields(strings.ToLower(c.Args)))
	}
	return commands.Says("`%[1]sjobs` lists yours. I also know: `%[1]sjobs NUMBER`, and after the number pause, resume, run, skip, delete, history, "+
		"`when` with a new time, `text` with a new text, or an option such as `overlap queue`; `%[1]sjobs add WHEN WHAT` has me do something later, `%[1]sjobs heartbeat WHEN WHAT` only if something has changed; `%[1]sjobs all` is for admins, in a direct chat.", c.Slash), nil
}

// oneJob shows a job, or does what stands behind its number.
func (d *Service) oneJob(ctx context.Context, c *commands.Call, id int64, rest string) (commands.Answer, error) {
	a := asked(c)
	verb, more, _ := strings.Cut(rest, " ")
	verb, more = strings.ToLower(verb), strings.TrimSpace(more)
	var err error
	var change *Change
	switch kind := verbs[verb]; {
	case verb == "when" && more == "":
		return d.asksWhen(ctx, a, id)
	case verb == "when":
		change, err = d.edit(ctx, a, id, request{when: more})
	case verb == "text":
		change, err = d.edit(ctx, a, id, request{text: more})
	case verb == "history":
		before, _ := strconv.ParseInt(strings.TrimPrefix(more, "before "), 10, 64)
		return d.history(ctx, a, id, before)
	case hasOption(verb):
		change, err = d.edit(ctx, a, id, request{options: []string{verb + " " + more}})
	case verb == "":
		return d.show(ctx, a, id)
	case kind != "":
		change, err = d.change(ctx, a, id, kind, more)
	default:
		if _, unclear := scheduler.Read(rest, d.Now(), cmp.Or(a.zone, "UTC")); unclear == nil {
			return commands.Says("Did you mean `%sjobs %d when %s`?", c.Slash, id, rest), nil
		}
		err = faulty("bad_arguments", "After the number of a job you can write pause, resume, run, skip, delete, history, when, text, and the options %s.", scheduler.OptionNames())
	}
	if err != nil {
		answer, err := says(err, fmt.Sprintf("jobs %d when", id))
		if verb == "when" {
			answer.Buttons = append(answer.Buttons, nextWhen(id))
		}
		return answer, err
	}
	return d.done(c, change), nil
}

// nextWhen has the next message, if it is a time, be that of a job.
func nextWhen(id int64) commands.Button {
	return commands.Button{Command: fmt.Sprintf("jobs %d when", id), Asks: true}
}

// asksWhen asks for what a job is to become.
func (d *Service) asksWhen(ctx context.Context, a *asking, id int64) (commands.Answer, error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return says(err, "")
	}
	answer := commands.Says("When should it be? Write a time, as in “tomorrow at 10”. \"%sjobs %d text …\" changes what it says.", a.slash, id)
	answer.Buttons = append(jobButtons(job), nextWhen(id))
	return answer, nil
}

// change makes a change of a job that there is.
func (d *Service) change(ctx context.Context, a *asking, id int64, kind ChangeKind, more string) (*Change, error) {
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
	runs, err := d.Ledger.Runs(ctx, id, 0, 10)
	for _, r := range runs {
		if err == nil && r.State != scheduler.RunSkipped && r.State != scheduler.RunMissed && d.Now().Sub(r.Slot) < leastPause {
			err = faulty("too_often", "Job %d ran within the last minute, or is about to: between two runs there has to be at least a minute.", id)
		}
	}
	return err
}

func deleted(id int64) *fault { return faulty("refused", "Job %d is deleted.", id) }

// snoozedUntil is when a reminder comes again.
func (d *Service) snoozedUntil(a *asking, job *scheduler.Job, by string) (time.Time, error) {
	now := d.Now()
	if job.Payload != scheduler.PayloadNotify {
		return now, faulty("refused", "Only reminders can be snoozed.")
	}
	if by == "tomorrow" {
		zone, err := scheduler.Zone(cmp.Or(a.zone, job.Spec.Zone))
		if err != nil {
			zone = time.UTC
		}
		return now.In(zone).AddDate(0, 0, 1), nil
	}
	wait, err := time.ParseDuration(by)
	if err != nil || wait < leastPause || wait > 366*24*time.Hour {
		return now, faulty("bad_time", "A reminder is snoozed for a time such as 10m or 1h, or tomorrow.")
	}
	return now.Add(wait), nil
}
