package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent/tools"
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

func (d *Service) remind(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args == "" {
		return commands.Says("Write \"%sremind\", when, and what: \"%[1]sremind tomorrow at 9 to call Ann\", \"%[1]sremind in 20 minutes tea\", "+
			"\"%[1]sremind every weekday at 8 stand up\". \"%[1]sjobs\" lists them.", c.Slash), nil
	}
	return d.added(c, scheduler.PayloadNotify, c.Args, "remind")
}

// added answers a command that adds a job.
func (d *Service) added(c *commands.Call, payload scheduler.Payload, when, retry string) (commands.Answer, error) {
	change, err := d.add(calling(c), request{payload: payload, when: when})
	if err != nil {
		return says(err, retry)
	}
	return d.done(c, change), nil
}

// done makes a change, and answers with what the job is then.
func (d *Service) done(c *commands.Call, change *Change) commands.Answer {
	return commands.Answer{Change: change, Say: func() commands.Answer {
		job := change.Done
		answer := commands.Answer{Text: d.wording().became(change, cmp.Or(c.Session.TimeZone, c.Person.TimeZone)), Taint: taintOf(c.Person.Name, *job)}
		switch change.Kind {
		case RemoveJob, RunJob:
		case AddJob, EditJob, SnoozeJob:
			answer.Buttons = madeButtons(job, c.Session.Language)
		default:
			answer.Buttons = []commands.Button{listButton(job)}
		}
		return answer
	}}
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
		return d.added(c, scheduler.PayloadAgent, rest, "jobs add")
	case verb == "heartbeat" && rest != "":
		return d.added(c, scheduler.PayloadHeartbeat, rest, "jobs heartbeat")
	case verb == "", verb == "all", verb == "after":
		return d.list(ctx, c, strings.Fields(strings.ToLower(c.Args)))
	}
	return commands.Says("`%[1]sjobs` lists yours. I also know: `%[1]sjobs NUMBER`, and after the number pause, resume, run, skip, delete, history, "+
		"`when` with a new time, `text` with a new text, or an option such as `overlap queue`; `%[1]sjobs add WHEN WHAT` has me do something later, `%[1]sjobs heartbeat WHEN WHAT` only if something has changed; `%[1]sjobs all` is for admins, in a direct chat.", c.Slash), nil
}

// oneJob shows a job, or does what stands behind its number.
func (d *Service) oneJob(ctx context.Context, c *commands.Call, id int64, rest string) (commands.Answer, error) {
	a := calling(c)
	verb, more, _ := strings.Cut(rest, " ")
	verb, more = strings.ToLower(verb), strings.TrimSpace(more)
	edit := tools.JobEdit{Job: id, Action: string(EditJob)}
	switch kind := verbs[verb]; {
	case verb == "", verb == "history", verb == "when" && more == "":
		return d.show(ctx, a, id, verb, more)
	case verb == "when":
		edit.When = more
	case verb == "text":
		edit.Text = more
	case hasOption(verb):
		edit.Action, edit.Text = "set", verb+" "+more
	case kind != "":
		edit.Action, edit.Text = string(kind), more
	default:
		if _, err := scheduler.Read(rest, d.Now(), cmp.Or(a.zone, "UTC")); err == nil {
			return commands.Says("Did you mean `%sjobs %d when %s`?", c.Slash, id, rest), nil
		}
		return says(faulty("bad_arguments", "After the number of a job you can write pause, resume, run, skip, delete, history, when, text, and the options %s.", scheduler.OptionNames()), "")
	}
	change, err := d.edited(ctx, a, edit)
	if err != nil {
		answer, err := says(err, fmt.Sprintf("jobs %d when", id))
		if verb == "when" {
			answer.Buttons = append(answer.Buttons, nextWhen(id))
		}
		return answer, err
	}
	return d.done(c, change), nil
}
