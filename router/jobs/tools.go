package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/ledger"
	"switchboard/scheduler"
)

var _ tools.Schedule = (*Desk)(nil)

// calling is who a tool is used for, and where.
func (d *Desk) calling(ctx context.Context, call tools.Call) (*asking, error) {
	person := d.Person(call.Session.Person)
	if person == nil {
		return nil, faulty("not_served", "%s is not somebody I know", call.Session.Person)
	}
	conv, err := d.Chat(ctx, call.Session.ID)
	return &asking{person: person, conv: conv, zone: call.Session.TimeZone, slash: "/", taint: call.Taint}, err
}

// AddJob implements tools.Schedule.
func (d *Desk) AddJob(ctx context.Context, call tools.Call, job tools.NewJob) tools.Result {
	if off := d.whenOff(); off != "" {
		return refused(faulty("unavailable", "%s", off))
	}
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	w := wish{payload: scheduler.PayloadNotify, when: job.When, text: job.Text, zone: job.Zone}
	switch job.Kind {
	case tools.JobTask:
		w.payload = scheduler.PayloadAgent
	case tools.JobSend:
		w.payload = scheduler.PayloadSend
		to, _, refusal := d.Deps.Recipient(ctx, a.person, strings.TrimSpace(job.To))
		if refusal != nil {
			return *refusal
		}
		w.to = &to
	}
	change, err := d.add(ctx, a, w)
	return d.changed(ctx, call, change, err)
}

// ListJobs implements tools.Schedule.
func (d *Desk) ListJobs(ctx context.Context, call tools.Call, which tools.JobList) tools.Result {
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	if which.Job != 0 {
		return d.oneListed(ctx, a, which.Job)
	}
	of := a.person.Name
	if which.All {
		if of = a.whose(); of != "" {
			return refused(faulty("not_permitted", "everybody's jobs are for admins, in a direct chat"))
		}
	}
	const most = 50
	list, more, err := d.some(ctx, a, of, which.After, most)
	if err != nil {
		return refused(err)
	}
	text := d.listed(list, of == "", which.After)
	if more {
		text += fmt.Sprintf("\nThere are more: go on with after %d.", list[most-1].ID)
	}
	return tools.Result{End: tools.EndOK, Output: plain(text), Taint: taintOf(a.person.Name, list...)}
}

func (d *Desk) oneListed(ctx context.Context, a *asking, id int64) tools.Result {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return refused(err)
	}
	runs, err := d.Ledger.Runs(ctx, id, 0, 10)
	if err != nil {
		return refused(err)
	}
	text := d.detail(job, job.Owner != a.person.Name) + "\n\n" + runsOf(job, runs, 0)
	return tools.Result{End: tools.EndOK, Output: plain(text), Taint: taintOf(a.person.Name, *job)}
}

// ChangeJob implements tools.Schedule.
func (d *Desk) ChangeJob(ctx context.Context, call tools.Call, edit tools.JobEdit) tools.Result {
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	var change *ledger.JobChange
	if edit.Action == "edit" {
		change, err = d.edit(ctx, a, edit.Job, wish{when: edit.When, text: edit.Text, zone: edit.Zone})
	} else {
		change, err = d.change(ctx, a, edit.Job, ledger.JobChangeKind(edit.Action), "")
	}
	return d.changed(ctx, call, change, err)
}

// changed makes a change for a tool and says what became of it.
func (d *Desk) changed(ctx context.Context, call tools.Call, change *ledger.JobChange, err error) tools.Result {
	if err != nil {
		return refused(err)
	}
	by := ledger.Hand{Person: call.Session.Person, Rule: ledger.RulePeople, Turn: call.Session.Turn}
	if err := d.Change(ctx, change, by); errors.Is(err, ledger.ErrNotFound) {
		return refused(faulty("not_found", "there is no such job of yours"))
	} else if said, ok := errors.AsType[*ledger.StateError](err); ok {
		return refused(faulty("refused", "%s", said.Sentence))
	} else if err != nil {
		return tools.Result{
			End: tools.EndError, Code: "unavailable", Output: "the database does not answer, and nobody knows whether it was done: " + err.Error(),
			Hint: "look at the list before doing it again",
		}
	}
	return tools.Result{End: tools.EndOK, Output: plain(d.became(change)), Taint: taintOf(call.Session.Person, *change.Done)}
}

// Recipient implements tools.Schedule.
func (d *Desk) Recipient(ctx context.Context, call tools.Call, to string) string {
	person := d.Person(call.Session.Person)
	if person == nil {
		return ""
	}
	conv, name, refusal := d.Deps.Recipient(ctx, person, to)
	switch {
	case refusal != nil:
		return ""
	case conv.Kind == channels.Direct:
		return fmt.Sprintf("It would go to %s, in the chat %s.", name, ledger.SessionKey(conv))
	}
	return fmt.Sprintf("It would go to the group %q, in the chat %s.", conv.Title, ledger.SessionKey(conv))
}

// refused says to a planner why nothing was done.
func refused(err error) tools.Result {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return tools.Result{End: tools.EndError, Code: "unavailable", Output: "the database does not answer; nothing was done", Hint: "try once more, then tell the person"}
	}
	text := f.text
	for _, c := range f.choices {
		text += "\n- " + c.when
	}
	return tools.Result{End: tools.EndRefused, Code: f.code, Output: text, Hint: f.hint}
}

func plain(markdown string) string { return render.Parse(markdown).Plain() }
