package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/scheduler"
)

var _ tools.Schedule = (*Service)(nil)

var payloads = map[string]scheduler.Payload{
	tools.JobRemind: scheduler.PayloadNotify, tools.JobTask: scheduler.PayloadAgent, tools.JobSend: scheduler.PayloadSend,
	tools.JobHeartbeat: scheduler.PayloadHeartbeat,
}

// calling is who a tool is used for, and where.
func (d *Service) calling(ctx context.Context, call tools.Call) (*caller, error) {
	person := d.Person(call.Session.Person)
	if person == nil {
		return nil, faulty("not_served", "%s is not somebody I know", call.Session.Person)
	}
	conv, err := d.Chat(ctx, call.Session.ID)
	var message channels.MessageID
	if err == nil && conv.Kind != channels.Direct {
		message, err = d.Store.AskedIn(ctx, call.Session.Turn)
	}
	zone := call.Session.TimeZone
	if err == nil && zone == "UTC" && person.TimeZone == "" { // a command may have set it since the turn began
		zone, err = d.Zone(ctx, conv, person)
	}
	return &caller{message: message, person: person, conv: conv, zone: zone, known: person.TimeZone != "", slash: "/", taint: call.Taint, tool: true}, err
}

// AddJob makes a job for a tool.
func (d *Service) AddJob(ctx context.Context, call tools.Call, job tools.NewJob) tools.Result {
	if call.Session.Alone && call.Taint != tools.Clean { // else what was read could go on by itself, in more and more jobs
		return refused(faulty("not_permitted", "a job that has read %s makes no other jobs: nobody is there to see it", call.Taint.Words()))
	}
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	r := request{payload: payloads[job.Kind], when: job.When, text: job.Text, zone: job.Zone}
	if job.Kind == tools.JobSend {
		to, _, refusal := d.FindRecipient(ctx, a.person, strings.TrimSpace(job.To))
		if refusal != nil {
			return *refusal
		}
		r.to = &to
	}
	change, err := d.add(a, r)
	return d.changed(ctx, call, change, err)
}

// Keeps is what a job that a tool makes keeps of what was read: of a reminder the text, and where it comes again and again, or cannot be
// read, also when. What acts later, or by another zone, is all one thing to say.
func (d *Service) Keeps(ctx context.Context, job tools.NewJob) []string {
	if job.Kind != tools.JobRemind || job.Zone != "" {
		return []string{strings.Join([]string{job.Kind, job.When, job.Text, job.Zone}, " ")}
	}
	when, err := d.when(&caller{}, request{when: job.When, text: job.Text, zone: "UTC"})
	if when.Says != "" && when.Rest == when.Says && job.Text == "" {
		when.Rest = when.Said // what a timer says is ours
	}
	switch {
	case err == nil && when.Spec.At != "":
		return []string{cmp.Or(when.Rest, job.When)}
	case job.Text == "":
		return []string{job.When}
	}
	return []string{job.When, job.Text}
}

// ListJobs lists jobs for a tool, or shows one.
func (d *Service) ListJobs(ctx context.Context, call tools.Call, which tools.JobList) tools.Result {
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	const most = 50
	var list []scheduler.Job
	var text string
	switch of := a.person.Name; {
	case which.Job != 0:
		list, text, err = d.oneListed(ctx, a, which.Job)
	case which.All && !a.sees():
		err = faulty("not_permitted", "everybody's jobs are for admins, in a direct chat")
	default:
		if which.All {
			of = ""
		}
		var more bool
		if list, more, text, err = d.page(ctx, a, of, which.After, most); more {
			text += fmt.Sprintf("\nThere are more: go on with after %d.", list[most-1].ID)
		}
	}
	if err != nil {
		return refused(err)
	}
	return tools.Result{End: tools.EndOK, Output: plain(text), Taint: taintOf(a.person.Name, list...)}
}

func (d *Service) oneListed(ctx context.Context, a *caller, id int64) (list []scheduler.Job, text string, err error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return nil, "", err
	}
	runs, err := d.Store.Runs(ctx, id, 0, 10)
	return []scheduler.Job{*job}, d.detail(ctx, a, job) + "\n\n" + runsOf(job, runs, 0), err
}

// ChangeJob changes a job for a tool.
func (d *Service) ChangeJob(ctx context.Context, call tools.Call, edit tools.JobEdit) tools.Result {
	a, err := d.calling(ctx, call)
	if err != nil {
		return refused(err)
	}
	change, err := d.edited(ctx, a, edit)
	return d.changed(ctx, call, change, err)
}

// DescribeChange says what a tool would change: "remove reminder 36: call Ann". What is refused now is not asked.
func (d *Service) DescribeChange(ctx context.Context, call tools.Call, edit tools.JobEdit) tools.Deed {
	a, err := d.calling(ctx, call)
	if err == nil {
		_, err = d.edited(ctx, a, edit)
	}
	var job *scheduler.Job
	if err == nil {
		job, err = d.job(ctx, a, edit.Job)
	}
	if err != nil {
		no := refused(err)
		return tools.Deed{Refused: &no}
	}
	verb := edit.Action
	if verb == string(EditJob) || verb == "set" {
		verb = "change"
	}
	is := fmt.Sprintf("%s %s %d: %s", verb, job.Payload.Kind(), job.ID, words.OneLine(cmp.Or(job.Text, job.Name, "what has changed"), 300))
	if to := joined(", ", words.OneLine(edit.When, mostWhen), words.OneLine(edit.Zone, 60)); to != "" && verb == "change" {
		is += ", to " + to
	}
	if edit.Text != "" && verb == "change" {
		is += "\n" + edit.Text
	}
	return tools.Deed{Words: is, Taint: taintOf(a.person.Name, *job), Asked: askedFor(a.person.Name, job, &edit)}
}

// changed makes a change for a tool and says what became of it.
func (d *Service) changed(ctx context.Context, call tools.Call, change *Change, err error) tools.Result {
	if err != nil {
		return refused(err)
	}
	by := core.Actor{Person: call.Session.Person, Rule: audit.RulePeople, Turn: call.Session.Turn}
	err = d.Change(ctx, change, by)
	said, isState := errors.AsType[*core.StateError](err)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return refused(faulty("not_found", "you have no such job"))
	case isState:
		return refused(faulty("refused", "%s", said.Sentence))
	case err != nil:
		return tools.Result{
			End: tools.EndError, Code: "unavailable", Output: "the database does not answer, and nobody knows whether it was done: " + err.Error(),
			Hint: "look at the list before doing it again",
		}
	}
	res := tools.Result{End: tools.EndOK, Output: d.Said(change), Taint: taintOf(call.Session.Person, *change.Done)}
	if itsNumber(change) != "" {
		res.Code = fmt.Sprintf(madeCode, change.Done.ID)
	}
	return res
}

// madeCode is the code of a tool's result that made or changed a job.
const madeCode = "job %d"

// refused says to a planner why nothing was done.
func refused(err error) tools.Result {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return tools.Result{End: tools.EndError, Code: "unavailable", Output: "the database does not answer; nothing was done", Hint: "try once more, then tell the person"}
	}
	return tools.Result{End: tools.EndRefused, Code: f.code, Output: f.Error()}
}

func plain(markdown string) string { return render.Parse(markdown).Plain() }

// Add makes the change that adds a job for a person, asked for by a program, or, on the machine, by the operator, who may more. It
// speaks in the direct chat that the person used last, or where To says.
func (d *Service) Add(ctx context.Context, person string, machine bool, job tools.NewJob) (*Change, error) {
	a, r, err := d.wanted(ctx, person, machine, job)
	if err != nil {
		return nil, err
	}
	return d.add(a, r)
}

// wanted is a job that a program asks for, and for whom.
func (d *Service) wanted(ctx context.Context, person string, machine bool, job tools.NewJob) (*caller, request, error) {
	r := request{payload: payloads[job.Kind], when: job.When, text: job.Text, zone: job.Zone, options: job.Options}
	p := d.Person(person)
	if p == nil {
		return nil, r, UnknownPerson(person)
	}
	if r.payload == "" || job.Kind == tools.JobSend && job.To == "" {
		return nil, r, faulty("bad_arguments", "a message to others needs somebody to whom it goes")
	}
	conv, _, refusal := d.FindRecipient(ctx, p, cmp.Or(job.To, person))
	if refusal != nil {
		return nil, r, faulty(refusal.Code, "%s", refusal.Output)
	}
	zone, err := d.Zone(ctx, conv, p)
	return &caller{person: p, conv: conv, zone: zone, known: true, slash: "/", machine: machine}, r, err
}

// Edit makes a change of a job of a person, asked for by a program, or, on the machine, of anybody's by the operator.
func (d *Service) Edit(ctx context.Context, person string, onMachine bool, edit tools.JobEdit) (*Change, error) {
	a := machine(person)
	if p := d.Person(person); !onMachine && p == nil {
		return nil, UnknownPerson(person)
	} else if !onMachine {
		a.person, a.machine = p, false
	}
	return d.edited(ctx, a, edit)
}

// Show is anybody's job, with all about it in plain text, for the operator.
func (d *Service) Show(ctx context.Context, id int64) (*scheduler.Job, string, error) {
	a := machine("")
	job, err := d.job(ctx, a, id)
	if err != nil {
		return nil, "", err
	}
	return job, plain(d.detail(ctx, a, job)), nil
}

// Said is what a change that was made came to, in plain text.
func (d *Service) Said(c *Change) string {
	return plain(d.wording().became(c, "")) + itsNumber(c)
}

// itsNumber says by which number a job is changed later, where nothing else does.
func itsNumber(c *Change) string {
	switch c.Kind {
	case AddJob, EditJob, ResumeJob, SnoozeJob:
		return fmt.Sprintf("\nIts number is %d.", c.Done.ID)
	}
	return ""
}

// machine is the operator on this machine.
func machine(name string) *caller {
	return &caller{person: &core.Person{Name: name, Role: core.RoleAdmin}, conv: channels.Conversation{Kind: channels.Direct}, known: true, slash: "/", machine: true}
}
