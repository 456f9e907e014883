package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/router/ledger"
	"switchboard/scheduler"
)

// jobCmd shows and changes reminders and jobs.
type jobCmd struct {
	List    jobListCmd    `cmd:"" help:"Reminders and jobs that are not over."`
	Add     jobAddCmd     `cmd:"" help:"Add one, as /remind and /jobs add do."`
	Show    jobShowCmd    `cmd:"" help:"All about one."`
	Edit    jobEditCmd    `cmd:"" help:"Give one another time, another text, or both."`
	Run     jobRunCmd     `cmd:"" help:"Run one now, besides its times."`
	Pause   jobPauseCmd   `cmd:"" help:"Let one rest until it is resumed."`
	Resume  jobResumeCmd  `cmd:"" help:"Have one go on that was paused or disabled."`
	Skip    jobSkipCmd    `cmd:"" help:"Leave the next time of one out."`
	Remove  jobRemoveCmd  `cmd:"" help:"Remove one; its history stays for as long as [retention] runs says."`
	History jobHistoryCmd `cmd:"" help:"The runs of one, and what became of them."`
}

type jobListCmd struct {
	Person string `help:"Whose; yours if nobody is named." default:"owner" placeholder:"NAME"`
	All    bool   `help:"Everybody's, and the program's own."`
	After  int64  `help:"Only those with a higher number." placeholder:"NUMBER"`
	Limit  count  `default:"50" help:"At most so many."`
	JSON   bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *jobListCmd) Run(a *app) error {
	how := url.Values{"person": {c.Person}, "after": {strconv.FormatInt(c.After, 10)}, "limit": {strconv.Itoa(int(c.Limit))}}
	if c.All {
		how.Set("person", "")
	}
	return list(a, "/jobs?"+how.Encode(), c.JSON, "ID\tOWNER\tDOES\tSTATE\tNEXT\tWHEN\tTEXT", func(j scheduler.Job) []any {
		next := "-"
		if !j.Slot.IsZero() {
			next = at(j.Slot)
		}
		return []any{j.ID, cmp.Or(j.Owner, "-"), j.Payload, j.State, next, oneLine(j.Spec.String(), 60), oneLine(cmp.Or(j.Name, j.Text), 60)}
	})
}

type jobAddCmd struct {
	When      string  `arg:"" help:"When, as in \"tomorrow at 9\" or \"every weekday at 8\"."`
	Text      string  `arg:"" help:"What is said, or asked of the agent."`
	Does      string  `help:"remind (say the text), task (have the agent do it), heartbeat (the same, where something has changed) or send (say it to somebody else)." enum:"remind,task,heartbeat,send" default:"remind"`
	To        string  `help:"Where it speaks: a person, a group's title, or CHANNEL:ID; the person's last used direct chat if none is named." placeholder:"WHERE"`
	Person    string  `help:"Whose it is; yours if nobody is named." default:"owner" placeholder:"NAME"`
	Timezone  string  `help:"An IANA name; that of the person if none is given." placeholder:"ZONE"`
	Model     string  `help:"Of a task or a heartbeat: the model it asks, in place of the chat's." placeholder:"MODEL"`
	Budget    float64 `help:"Of a task or a heartbeat: what a run may cost at most, in place of budget.per_job_run." placeholder:"AMOUNT"`
	Checklist string  `help:"Of a heartbeat: a file in the folder heartbeat of the data folder." placeholder:"FILE"`
	jsonFlag
}

// Run implements the command.
func (c *jobAddCmd) Run(a *app) error {
	return a.changeJob("/jobs?"+url.Values{
		"person": {c.Person}, "kind": {c.Does}, "when": {c.When}, "text": {c.Text}, "zone": {c.Timezone}, "to": {c.To},
		"model": {c.Model}, "budget": {strconv.FormatFloat(c.Budget, 'f', -1, 64)}, "checklist": {c.Checklist},
	}.Encode(), "job add", c.JSON)
}

// oneJob names a job.
type oneJob struct {
	ID int64 `arg:"" help:"The job's number."`
	jsonFlag
}

type jobShowCmd struct{ oneJob }

// Run implements the command.
func (c *jobShowCmd) Run(a *app) error {
	var said jobSaid
	if err := a.ask(fmt.Sprintf("/jobs/%d", c.ID), &said); err != nil {
		return fmt.Errorf("job show %d: %w", c.ID, err)
	}
	return a.sayJob(&said, c.JSON)
}

type jobEditCmd struct {
	oneJob
	When     string `help:"Another time."`
	Text     string `help:"Another text."`
	Timezone string `help:"An IANA name, with --when; that of the person if none is given." placeholder:"ZONE"`
}

// Run implements the command.
func (c *jobEditCmd) Run(a *app) error {
	if c.When == "" && c.Text == "" {
		return usageError{errors.New("job edit: give --when, --text, or both")}
	}
	return a.changeJob(fmt.Sprintf("/jobs/%d/edit?", c.ID)+url.Values{"when": {c.When}, "text": {c.Text}, "zone": {c.Timezone}}.Encode(), "job edit", c.JSON)
}

type (
	jobRunCmd    struct{ oneJob }
	jobPauseCmd  struct{ oneJob }
	jobResumeCmd struct{ oneJob }
	jobSkipCmd   struct{ oneJob }
	jobRemoveCmd struct{ oneJob }
)

// Run implements the command.
func (c *jobRunCmd) Run(a *app) error { return c.change(a, ledger.RunJob) }

// Run implements the command.
func (c *jobPauseCmd) Run(a *app) error { return c.change(a, ledger.PauseJob) }

// Run implements the command.
func (c *jobResumeCmd) Run(a *app) error { return c.change(a, ledger.ResumeJob) }

// Run implements the command.
func (c *jobSkipCmd) Run(a *app) error { return c.change(a, ledger.SkipJob) }

// Run implements the command.
func (c *jobRemoveCmd) Run(a *app) error { return c.change(a, ledger.RemoveJob) }

func (c *oneJob) change(a *app, kind ledger.JobChangeKind) error {
	return a.changeJob(fmt.Sprintf("/jobs/%d/%s", c.ID, kind), "job "+string(kind), c.JSON)
}

type jobHistoryCmd struct {
	oneJob
	Before int64 `help:"Only runs before this number." placeholder:"NUMBER"`
	Limit  count `default:"50" help:"At most so many."`
}

// Run implements the command.
func (c *jobHistoryCmd) Run(a *app) error {
	path := fmt.Sprintf("/jobs/%d/runs?before=%d&limit=%d", c.ID, c.Before, c.Limit)
	return list(a, path, c.JSON, "RUN\tDUE\tSTATE\tLATE\tTRY\tTURN\tDELIVERY\tTOKENS\tCOST\tWHY", func(r scheduler.Run) []any {
		turn, late := any("-"), "-"
		if r.Turn != 0 {
			turn = r.Turn
		}
		if !r.Started.IsZero() {
			late = r.Lag().Round(time.Millisecond).String()
		}
		why := r.Reason
		if r.Count > 1 {
			why = fmt.Sprintf("%d times, to %s; %s", r.Count, at(r.Last), why)
		}
		return []any{r.ID, at(r.Slot), r.State, late, r.Try, turn, cmp.Or(r.Delivery, "-"), r.TokensIn + r.TokensOut, fmt.Sprintf("%.4g", r.Cost), oneLine(why, 80)}
	})
}

// jobSaid is a job as it is now, and what is to be said of it.
type jobSaid struct {
	Job  scheduler.Job `json:"job"`
	Said string        `json:"said"`
}

func (a *app) changeJob(path, what string, asJSON bool) error {
	var said jobSaid
	_, answered, err := a.request(http.MethodPost, path, &said)
	if !answered {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(a.sayJob(&said, asJSON), err)
}

func (a *app) sayJob(said *jobSaid, asJSON bool) error {
	if asJSON {
		return printJSON(a.out, said.Job)
	}
	_, err := fmt.Fprintln(a.out, console.Printable(said.Said))
	return err
}

// jobRoutes show and change jobs, as whoever runs the program.
func (e *engine) jobRoutes(mux *http.ServeMux) {
	route(mux, "GET /jobs/{id}", func(r *http.Request) (any, error) {
		job, said, err := e.desk.Show(r.Context(), id(r))
		if err != nil {
			return nil, err
		}
		return jobSaid{*job, said}, nil
	})
	change := func(r *http.Request, c *ledger.JobChange, err error) (any, error) {
		if err == nil {
			err = e.router.Change(r.Context(), c, ledger.OwnerHand(ownerName))
		}
		if err != nil {
			return nil, err
		}
		return jobSaid{*c.Done, e.desk.Said(c)}, nil
	}
	route(mux, "POST /jobs", func(r *http.Request) (any, error) {
		rules, err := jobRules(e.settings(), r.FormValue("model"), r.FormValue("budget"), r.FormValue("checklist"))
		if err != nil {
			return nil, err
		}
		c, err := e.desk.Add(r.Context(), r.FormValue("person"), tools.NewJob{
			Kind: r.FormValue("kind"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"), To: r.FormValue("to"),
		}, rules)
		return change(r, c, err)
	})
	route(mux, "POST /jobs/{id}/{action}", func(r *http.Request) (any, error) {
		c, err := e.desk.Edit(r.Context(), ownerName, tools.JobEdit{
			Job: id(r), Action: r.PathValue("action"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"),
		})
		return change(r, c, err)
	})
}

// jobRules are what the command line says of a task or a heartbeat.
func jobRules(s *configs.Settings, model, budget, checklist string) (r scheduler.Rules, err error) {
	r = scheduler.Rules{Model: model, File: checklist}
	if models := append(routerSettings(s).Models, s.Agent.Planner); model != "" && !slices.Contains(models, model) {
		return r, fmt.Errorf("there is no model %q; there are %s", model, strings.Join(models, ", "))
	}
	if r.Budget, err = strconv.ParseFloat(cmp.Or(budget, "0"), 64); err != nil || !(r.Budget >= 0) || math.IsInf(r.Budget, 0) { // nor NaN
		return r, fmt.Errorf("%q is no amount; a budget is a number from 0 on", budget)
	}
	if faults := s.Unpriced(); r.Budget > 0 && len(faults) > 0 {
		return r, fmt.Errorf("a budget needs the price of each model: %s", strings.Join(faults, "; "))
	}
	if checklist != "" && !filepath.IsLocal(checklist) {
		return r, fmt.Errorf("%q is no file in the folder %s of the data folder", checklist, checklists)
	}
	return r, nil
}
