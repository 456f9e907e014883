package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	web "switchboard/channels/api"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/scheduler"
)

// jobCmd shows and changes reminders and jobs.
type jobCmd struct {
	List    jobListCmd    `cmd:"" help:"Reminders and jobs that are not over."`
	Add     jobAddCmd     `cmd:"" help:"Add one, as /remind and /jobs add do."`
	Show    jobShowCmd    `cmd:"" help:"All about one."`
	Edit    jobEditCmd    `cmd:"" help:"Give one another time, text or option."`
	Run     jobChangeCmd  `cmd:"" help:"Run one now; its schedule stays as it is."`
	Pause   jobChangeCmd  `cmd:"" help:"Pause one until it is resumed."`
	Resume  jobChangeCmd  `cmd:"" help:"Resume one that was paused or disabled."`
	Skip    jobChangeCmd  `cmd:"" help:"Skip the next run of one."`
	Remove  jobChangeCmd  `cmd:"" help:"Remove one; its history stays for as long as [retention] runs says."`
	History jobHistoryCmd `cmd:"" help:"The runs of one, and what became of them."`
}

type jobListCmd struct {
	Person string `help:"Whose; yours if nobody is named." default:"owner" placeholder:"NAME"`
	All    bool   `help:"Everybody's, and the program's own."`
	After  int64  `help:"Only those with a higher number." placeholder:"NUMBER"`
	Limit  count  `default:"50" help:"Show at most this many."`
	JSON   bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *jobListCmd) Run(a *app) error {
	how := url.Values{"person": {c.Person}, "after": {strconv.FormatInt(c.After, 10)}, "limit": {c.Limit.asked()}}
	try := "job list --all lists everybody's, and \"switchboard job add\" makes one"
	if c.All {
		how.Set("person", "")
		try = "\"switchboard job add\" makes one"
	}
	var got web.JobList
	if err := a.ask("/v1/jobs?"+how.Encode(), &got); err != nil {
		return err
	}
	return printList(a, c.Limit, c.JSON, try, "ID\tOWNER\tDOES\tSTATE\tNEXT\tWHEN\tTEXT", got.Jobs, func(j scheduler.Job) []any {
		next := "-"
		if !j.Slot.IsZero() {
			next = inZone(j.Slot, j.Spec.Zone)
		}
		state := string(j.State)
		if j.Away && j.State == scheduler.JobActive {
			state += ", owner is away"
		}
		return []any{j.ID, cmp.Or(j.Owner, "-"), j.Payload.Kind(), state, next, oneLine(j.Spec.Words(), 60), oneLine(cmp.Or(j.Name, j.Text), 60)}
	})
}

type jobAddCmd struct {
	When     string `arg:"" help:"When, as in \"tomorrow at 9\" or \"every weekday at 8\"."`
	Text     string `arg:"" help:"What is said, or asked of the agent."`
	Does     string `help:"reminder (say the text), task (have the agent do it), heartbeat (the same, but only if something has changed) or message (say it to somebody else)." enum:"reminder,task,heartbeat,message" default:"reminder"`
	To       string `help:"Where it speaks: a person, a group's title, or CHANNEL:ID; the person's last used direct chat if none is named." placeholder:"WHERE"`
	Person   string `help:"Whose it is; yours if nobody is named." default:"owner" placeholder:"NAME"`
	Timezone string `help:"An IANA name; that of the person if none is given." placeholder:"ZONE"`
	jobOptions
	jsonFlag
}

// Help is what --help says besides the flags.
func (jobAddCmd) Help() string {
	return `Times are "in 20 minutes", "tomorrow at 9", "on 5 december at 9", "2026-12-05 09:00", "every 15 minutes", "every weekday at 8:00",
"every monday and thursday at 18:30", "every month on the 1st at 9" or "cron 0 8 * * 1-5"; docs/scheduling.md has all of them.`
}

// jobOptions are scheduler.Options by name; nil: it is not given.
type jobOptions struct {
	Misfire   *string `help:"What to do about times that passed while nothing ran: skip, once or all." placeholder:"WHAT"`
	Grace     *string `help:"How late such a time still runs, as in 2h." placeholder:"TIME"`
	Overlap   *string `help:"What to do when a run is due while the one before still goes on: skip, queue or allow." placeholder:"WHAT"`
	Jitter    *string `help:"Start each run later by a random time of up to this, as in 5m." placeholder:"TIME"`
	Timeout   *string `help:"How long a run of a task or a heartbeat may take, as in 10m." placeholder:"TIME"`
	Retries   *string `help:"How often a run that failed is tried again, from 0 to 5." placeholder:"NUMBER"`
	Budget    *string `help:"The most a run of a task or a heartbeat may cost, instead of budget.per_job_run." placeholder:"AMOUNT"`
	Model     *string `help:"The model for a task or a heartbeat, instead of the chat's." placeholder:"MODEL"`
	Checklist *string `help:"For a heartbeat: a file in the folder heartbeat of the data folder." placeholder:"FILE"`
	From      *string `help:"Its first day or time, as in \"5 december at 9\"." placeholder:"WHEN"`
	Until     *string `help:"Its last day or time, as in \"31 december\"." placeholder:"WHEN"`
	Hours     *string `help:"It runs only in these hours, as in 8:00-22:00." placeholder:"HOURS"`
	Times     *string `help:"How often it runs in all." placeholder:"NUMBER"`
}

// words are the options that are given, each a name and its value.
func (o *jobOptions) words() (list []string) {
	given := reflect.ValueOf(*o)
	for i := range given.NumField() {
		if value, _ := given.Field(i).Interface().(*string); value != nil {
			list = append(list, strings.ToLower(given.Type().Field(i).Name)+" "+*value)
		}
	}
	return list
}

// Run implements the command.
func (c *jobAddCmd) Run(a *app) error {
	return a.changeJob("/v1/jobs", &web.NewJob{
		Person: c.Person, Kind: c.Does, When: c.When, Text: c.Text, Zone: c.Timezone, To: c.To, Options: c.words(),
	}, "job add", c.JSON)
}

// oneJob names a job.
type oneJob struct {
	ID number `arg:"" help:"The job's number."`
	jsonFlag
}

type jobShowCmd struct{ oneJob }

// Run implements the command.
func (c *jobShowCmd) Run(a *app) error {
	var said web.JobSaid
	if err := a.ask(fmt.Sprintf("/v1/jobs/%d", c.ID), &said); err != nil {
		return fmt.Errorf("job show: %w", err)
	}
	return a.sayJob(&said, c.JSON)
}

type jobEditCmd struct {
	oneJob
	When     string `help:"Another time."`
	Text     string `help:"Another text."`
	Timezone string `help:"Another time zone, an IANA name: of the new time, or, without --when, its times are the same on the clock there." placeholder:"ZONE"`
	jobOptions
}

// Help is what --help says besides the flags.
func (jobEditCmd) Help() string {
	return `An option that you do not name stays as it is. An option's value "default" takes the option away, as in --overlap default.`
}

// Run implements the command.
func (c *jobEditCmd) Run(a *app) error {
	options := c.words()
	if c.When == "" && c.Text == "" && c.Timezone == "" && len(options) == 0 {
		return configs.Usage(errors.New("job edit: say what is to change, as in --when \"every day at 9\", --text, --timezone, or an option such as --overlap queue; --help lists them"))
	}
	return a.changeJob(fmt.Sprintf("/v1/jobs/%d/edit", c.ID), &web.JobEdit{When: c.When, Text: c.Text, Zone: c.Timezone, Options: options}, "job edit", c.JSON)
}

// jobChangeCmd is each command that changes a job and needs no more than its number.
type jobChangeCmd struct{ oneJob }

// Run implements the command, under the name that it has in the command line.
func (c *jobChangeCmd) Run(a *app, k *kong.Context) error {
	how := k.Selected().Name
	return a.changeJob(fmt.Sprintf("/v1/jobs/%d/%s", c.ID, how), nil, "job "+how, c.JSON)
}

type jobHistoryCmd struct {
	oneJob
	Before int64 `help:"Only runs before this number." placeholder:"NUMBER"`
	Limit  count `default:"50" help:"Show at most this many."`
}

// Run implements the command.
func (c *jobHistoryCmd) Run(a *app) error {
	path := fmt.Sprintf("/v1/jobs/%d/runs?before=%d&limit=%s", c.ID, c.Before, c.Limit.asked())
	var got web.JobRuns
	if err := a.ask(path, &got); err != nil {
		return fmt.Errorf("job history: %w", err)
	}
	return printFirst(a, c.Limit, c.JSON, "RUN\tDUE\tSTATE\tLATE\tTRY\tTURN\tDELIVERY\tTOKENS\tCOST\tWHY", got.Runs, func(r scheduler.Run) []any {
		turn, late := any("-"), "-"
		if r.Turn != 0 {
			turn = r.Turn
		}
		if !r.Started.IsZero() {
			late = r.Lag().Round(time.Millisecond).String()
		}
		return []any{r.ID, inZone(r.Slot, got.Zone), r.State, late, r.Try, turn, cmp.Or(r.Delivery, "-"), r.TokensIn + r.TokensOut, fmt.Sprintf("%.4g", r.Cost), oneLine(whyRan(&r, got.Zone), 80)}
	})
}

// whyRan says why a run came to what it did, and how many slots a stretch of them has.
func whyRan(r *scheduler.Run, zone string) string {
	if r.Count <= 1 {
		return r.Reason
	}
	stretch := fmt.Sprintf("%d times, to %s", r.Count, inZone(r.Last, zone))
	return strings.TrimSuffix(stretch+"; "+r.Reason, "; ")
}

func (a *app) changeJob(path string, body any, what string, asJSON bool) error {
	var said web.JobSaid
	return a.order(api.Call{Method: http.MethodPost, Path: path, Body: body}, what, &said, func() error { return a.sayJob(&said, asJSON) })
}

func (a *app) sayJob(said *web.JobSaid, asJSON bool) error {
	if asJSON {
		return printJSON(a.out, said.Job)
	}
	_, err := fmt.Fprintln(a.out, console.Printable(said.Said))
	return err
}
