package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"switchboard/agent/tools"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/sessions"
	"switchboard/scheduler"
)

// JobReader reads jobs that stand in the database.
type JobReader interface {
	// JobsOf lists those that are neither done nor removed, by number from after on.
	JobsOf(ctx context.Context, whose sessions.Whose, after int64, limit int) ([]scheduler.Job, error)
	// Job is one, in whatever state; of that person, empty: of whomever. ErrNotFound.
	Job(ctx context.Context, id int64, of string) (*scheduler.Job, error)
	// Runs lists runs of one, the newest first, before a number; 0: from the newest of all.
	Runs(ctx context.Context, job, before int64, limit int) ([]scheduler.Run, error)
	// Person is somebody the bot knows. ErrNotFound.
	Person(ctx context.Context, name string) (core.Person, error)
}

// Jobs makes changes of jobs, in words.
type Jobs interface {
	Show(ctx context.Context, id int64) (*scheduler.Job, string, error)
	Add(ctx context.Context, person string, machine bool, job tools.NewJob) (*jobs.Change, error)
	Edit(ctx context.Context, person string, machine bool, edit tools.JobEdit) (*jobs.Change, error)
	Said(c *jobs.Change) string
}

func (a *API) jobCalls() {
	call := callsOf("jobs")
	register(a, call(Read, http.MethodGet, "", "listJobs", "Reminders and jobs that are not over, by number."), a.listJobs)
	register(a, call(Read, http.MethodGet, "/{id}/runs", "listRuns", "The runs of a job, the newest first."), a.listRuns)
	register(a, call(Read, http.MethodGet, "/{id}", "getJob", "All about a job."), a.getJob)
	add := call(Admin, http.MethodPost, "", "addJob", "Add a reminder or a job for a person whom the token may speak for.")
	add.Status = http.StatusCreated
	register(a, add, a.addJob)
	register(a, call(Admin, http.MethodPost, "/{id}/{action}", "changeJob", "Change a job, or run it now."), a.changeJob)
}

type listJobsIn struct {
	ListIn
	Person string `query:"person" doc:"Only theirs."`
	After  int64  `query:"after" doc:"Only those with a higher number."`
}

// JobList are jobs.
type JobList struct {
	Jobs []scheduler.Job `json:"jobs"`
}

func (a *API) listJobs(ctx context.Context, in *listJobsIn) (*JobList, error) {
	c := CallerOf(ctx)
	whose := c.whose()
	if in.Person != "" {
		if _, err := a.JobReader.Person(ctx, in.Person); err != nil || !a.mayRead(c, in.Person) {
			return nil, notThere(err, jobs.UnknownPerson(in.Person))
		}
		whose = sessions.Whose{People: []string{in.Person}}
	}
	list, err := a.JobReader.JobsOf(ctx, whose, in.After, in.most(c))
	return &JobList{some(list)}, err
}

// notThere is why something is not shown: what went wrong with reading it, or that it is not there, for this caller.
func notThere(err, unknown error) error {
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	return unknown
}

type listRunsIn struct {
	NumberIn
	ListIn
	Before int64 `query:"before" doc:"Only those with a lower number."`
}

// JobRuns are runs of a job, and the zone of their times.
type JobRuns struct {
	Zone string          `json:"zone"`
	Runs []scheduler.Run `json:"runs"`
}

func (a *API) listRuns(ctx context.Context, in *listRunsIn) (*JobRuns, error) {
	job, err := a.job(ctx, &in.NumberIn)
	if err != nil {
		return nil, err
	}
	runs, err := a.JobReader.Runs(ctx, job.ID, in.Before, in.most(CallerOf(ctx)))
	return &JobRuns{job.Spec.Zone, some(runs)}, err
}

// job is the job of a call, if its caller may read it.
func (a *API) job(ctx context.Context, in *NumberIn) (*scheduler.Job, error) {
	job, err := a.JobReader.Job(ctx, in.number(), "")
	if err != nil || !a.mayRead(CallerOf(ctx), job.Owner) {
		return nil, notThere(err, jobs.Unknown(in.number()))
	}
	return job, nil
}

// A JobSaid is a job as it is now, and what is to be said of it.
type JobSaid struct {
	Job  scheduler.Job `json:"job"`
	Said string        `json:"said"`
}

func (a *API) getJob(ctx context.Context, in *NumberIn) (*JobSaid, error) {
	if _, err := a.job(ctx, in); err != nil {
		return nil, err
	} else if a.Jobs == nil {
		return nil, api.Failed(http.StatusServiceUnavailable, "\"switchboard job list\" shows it in short", "no engine can run here")
	}
	job, said, err := a.Jobs.Show(ctx, in.number())
	if err != nil {
		return nil, err
	}
	return &JobSaid{*job, said}, nil
}

// A NewJob is a reminder or a job that is to be.
type NewJob struct {
	Person  string   `json:"person" minLength:"1" doc:"Whose it is."`
	Kind    string   `json:"kind" enum:"reminder,task,heartbeat,message" doc:"reminder says the text, task has the agent do it, heartbeat does so if something has changed, message says it to somebody else."`
	When    string   `json:"when" minLength:"1" doc:"As in \"tomorrow at 9\" or \"every weekday at 8\"."`
	Text    string   `json:"text,omitempty"`
	Zone    string   `json:"zone,omitempty" doc:"An IANA name; none: the person's."`
	To      string   `json:"to,omitempty" doc:"Where it speaks: a person, a group's title, or CHANNEL:ID; none: the person's last used direct chat."`
	Options []string `json:"options,omitempty" doc:"Each a name and its value, as in \"overlap skip\"."`
}

func (a *API) addJob(ctx context.Context, in *struct{ Body NewJob }) (*JobSaid, error) {
	c, b := CallerOf(ctx), &in.Body
	if err := a.speaks(c, b.Person); err != nil {
		return nil, err
	}
	change, err := a.Jobs.Add(ctx, b.Person, c.Local, tools.NewJob{Kind: b.Kind, When: b.When, Text: b.Text, Zone: b.Zone, To: b.To, Options: b.Options})
	return a.changedJob(ctx, b.Person, change, err)
}

// A JobEdit says how a job changes; action edit alone takes it.
type JobEdit struct {
	When    string   `json:"when,omitempty" doc:"Another time; empty: as before."`
	Text    string   `json:"text,omitempty" doc:"Another text; empty: as before."`
	Zone    string   `json:"zone,omitempty"`
	Options []string `json:"options,omitempty"`
}

type changeJobIn struct {
	NumberIn
	Action string   `path:"action" enum:"edit,run,pause,resume,skip,remove"`
	Body   *JobEdit // nil: none
}

func (a *API) changeJob(ctx context.Context, in *changeJobIn) (*JobSaid, error) {
	c, person, edit := CallerOf(ctx), a.Owner, cmp.Or(in.Body, &JobEdit{})
	if !c.Local {
		job, err := a.job(ctx, &in.NumberIn)
		if err != nil || !c.SpeaksFor(a.People.Named(job.Owner)) {
			return nil, notThere(err, jobs.Unknown(in.number()))
		}
		person = job.Owner
	}
	change, err := a.Jobs.Edit(ctx, person, c.Local, tools.JobEdit{Job: in.number(), Action: in.Action, When: edit.When, Text: edit.Text, Zone: edit.Zone, Options: edit.Options})
	return a.changedJob(ctx, person, change, err)
}

// changedJob makes a change, and says what came of it.
func (a *API) changedJob(ctx context.Context, person string, change *jobs.Change, err error) (*JobSaid, error) {
	if err == nil {
		err = a.Changer.Change(ctx, change, a.actor(CallerOf(ctx), person))
	}
	if err != nil {
		return nil, err
	}
	return &JobSaid{*change.Done, a.Jobs.Said(change)}, nil
}
