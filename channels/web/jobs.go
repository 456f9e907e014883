package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/sessions"
	"switchboard/scheduler"
)

const (
	jobsMost = 25 // jobs of a page
	dotsMost = 14 // runs of a job in a list
	runsMost = 50 // runs on the page of a job
)

// Jobs reads times, says what jobs do, and makes changes of them, as the commands do.
type Jobs interface {
	Add(ctx context.Context, person string, machine bool, job tools.NewJob) (*jobs.Change, error)
	Edit(ctx context.Context, person string, machine bool, edit tools.JobEdit) (*jobs.Change, error)
	Said(c *jobs.Change) string
	Read(ctx context.Context, person string, id int64, job tools.NewJob) (string, error)
	View(job *scheduler.Job, n int) jobs.View
	Where(ctx context.Context, job *scheduler.Job) string
}

func (s *Site) jobPages() {
	s.menu = append(s.menu, entry{Name: "jobs", Path: "/jobs", Label: "Reminders and jobs"})
	s.forAll("GET /jobs", s.jobs)
	s.forAll("POST /jobs", s.addJob)
	s.forAll("GET /jobs/read", s.readTime)
	s.forAll("GET /jobs/{job}", s.oneJob)
	s.forAll("POST /jobs/{job}", s.editJob)
	s.forAll("POST /jobs/{job}/{action}", s.changeJob)
}

// A jobList is the page of somebody's jobs, or of everybody's.
type jobList struct {
	Form  jobForm
	Rows  []jobRow
	All   bool  // everybody's are shown
	May   bool  // they can be
	After int64 // the number behind which the rows begin
	More  int64 // that of the last row, where there are others; 0: there are none
}

// A jobForm is what a job is written in.
type jobForm struct {
	ID         int64 // 0: it makes one
	Text, When string
	All        bool // it stands above the jobs of everybody
	Swap       bool // it takes the place of the one that was sent
}

// A jobRow is a job as it is shown.
type jobRow struct {
	*scheduler.Job
	jobs.View
	Runs  []jobRun // the newest last
	Owner string   // empty: whose page it is
	Whole bool     // it is the page of the job
	All   bool     // it is in a list of everybody's
	After int64    // and that begins behind this number
	Where string
	Form  jobForm
}

// A jobRun is a run as it is shown.
type jobRun struct {
	State, Words string
	Turn         int64
}

// A jobAction is a press.
type jobAction struct {
	jobRow
	Action, Label string
}

// Kind is what people call a job that does this.
func (j jobRow) Kind() string { return j.Payload.Kind() }

// Title names it where a line begins.
func (j jobRow) Title() string {
	return fmt.Sprintf("%s %d", words.Upper(j.Kind()), j.ID)
}

// Newest are the runs, the newest first.
func (j jobRow) Newest() []jobRun {
	list := slices.Clone(j.Runs)
	slices.Reverse(list)
	return list
}

// Own says that it is a person's, and no part of the program.
func (j jobRow) Own() bool { return j.Job.Owner != "" }

// Over says that nothing is to come of it.
func (j jobRow) Over() bool {
	return j.State == scheduler.JobDone || j.State == scheduler.JobRemoved
}

// Sign is a state in a word.
func (j jobRow) Sign() string {
	if j.State == scheduler.JobDone {
		return "over"
	}
	return string(j.State)
}

// row is a job for the visitor.
func (s *Site) row(ctx context.Context, v *visitor, job *scheduler.Job, next, most int) (jobRow, error) {
	row := jobRow{Job: job, View: s.Jobs.View(job, next)}
	if job.Owner != v.person.Name {
		row.Owner = job.Owner
		if job.Owner == "" {
			row.Owner = "the program"
		}
	}
	runs, err := s.JobReader.Runs(ctx, job.ID, 0, most)
	for _, r := range slices.Backward(runs) {
		row.Runs = append(row.Runs, jobRun{string(r.State), jobs.RunWords(&r, job), r.Turn})
	}
	return row, err
}

// jobList is a page of jobs. Swap: its form takes the place of the one that was sent.
func (s *Site) jobList(ctx context.Context, v *visitor, all, swap bool, after int64) (*jobList, error) {
	l := &jobList{May: v.admin(), All: all && v.admin(), After: max(after, 0)}
	l.Form = jobForm{All: l.All, Swap: swap}
	whose := sessions.Whose{People: []string{v.person.Name}}
	if l.All {
		whose = sessions.Whose{All: true}
	}
	list, err := s.JobReader.JobsOf(ctx, whose, l.After, jobsMost+1)
	if len(list) > jobsMost {
		list = list[:jobsMost]
		l.More = list[jobsMost-1].ID
	}
	for i := range list {
		if err != nil {
			break
		}
		var row jobRow
		row, err = s.row(ctx, v, &list[i], 1, dotsMost)
		row.All, row.After = l.All, l.After
		l.Rows = append(l.Rows, row)
	}
	return l, err
}

func (s *Site) jobs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
	l, err := s.jobList(r.Context(), visitorOf(r), q.Get("all") != "", false, after)
	if err != nil {
		return err
	}
	return s.show(w, r, "jobs", "Reminders and jobs", "jobs", l)
}

// job is the job of a call, which the visitor may read: theirs, or, of admins, anybody's.
func (s *Site) job(r *http.Request) (*scheduler.Job, error) {
	v, of := visitorOf(r), ""
	if !v.admin() {
		of = v.person.Name
	}
	id, _ := strconv.ParseInt(r.PathValue("job"), 10, 64)
	return s.JobReader.Job(r.Context(), id, of)
}

// wholeJob is the page of a job.
func (s *Site) wholeJob(r *http.Request, job *scheduler.Job) (jobRow, error) {
	row, err := s.row(r.Context(), visitorOf(r), job, 3, runsMost)
	row.Whole, row.Where = true, s.Jobs.Where(r.Context(), job)
	row.Form = jobForm{ID: job.ID, Text: job.Text, When: job.Spec.String()}
	return row, err
}

func (s *Site) oneJob(w http.ResponseWriter, r *http.Request) error {
	job, err := s.job(r)
	var row jobRow
	if err == nil {
		row, err = s.wholeJob(r, job)
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "jobs", row.Title(), "job", row)
}

// field is a text of a form, as it was written.
func field(r *http.Request, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.FormValue(name), "\r\n", "\n"))
}

// readTime says while a form is written when the job would be due. It changes nothing.
func (s *Site) readTime(w http.ResponseWriter, r *http.Request) error {
	said := struct{ Words, Wrong string }{}
	if when := field(r, "when"); when != "" && when != field(r, "when_was") {
		id, _ := strconv.ParseInt(r.FormValue("job"), 10, 64)
		var err error
		said.Words, err = s.Jobs.Read(r.Context(), visitorOf(r).person.Name, id, tools.NewJob{Kind: r.FormValue("kind"), When: when, Text: field(r, "text")})
		if refused, ok := errors.AsType[jobs.Refused](err); ok {
			said.Words, said.Wrong = "", whyNot(refused)
		} else if err != nil {
			return err
		}
	}
	return s.part(w, r, "job-echo", said)
}

// whyNot is why nothing was done, for people.
func whyNot(refused jobs.Refused) string {
	if refused.Code() == "no_chat" {
		return "Write to me in a chat first: what I say of a job goes there."
	}
	return words.Upper(refused.Error())
}

func (s *Site) addJob(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	job := tools.NewJob{Kind: r.FormValue("kind"), When: field(r, "when"), Text: field(r, "text")}
	if job.Kind == tools.JobSend { // it is asked in a chat to whom it goes
		job.Kind = ""
	}
	change, err := s.Jobs.Add(r.Context(), v.person.Name, false, job)
	return s.changedJob(w, r, nil, change, err)
}

func (s *Site) editJob(w http.ResponseWriter, r *http.Request) error {
	job, err := s.job(r)
	if err != nil {
		return err
	}
	edit := tools.JobEdit{Job: job.ID, Action: string(jobs.EditJob)}
	if when := field(r, "when"); when != field(r, "when_was") {
		edit.When = when
	}
	if text := field(r, "text"); text != field(r, "text_was") {
		edit.Text = text
	}
	if edit.When+edit.Text == "" {
		return &core.StateError{Sentence: "Write another time or another text first."}
	}
	change, err := s.Jobs.Edit(r.Context(), visitorOf(r).person.Name, false, edit)
	return s.changedJob(w, r, job, change, err)
}

// jobActions are what a press does with a job.
var jobActions = []jobs.ChangeKind{jobs.PauseJob, jobs.ResumeJob, jobs.RunJob, jobs.SkipJob, jobs.SnoozeJob, jobs.RemoveJob}

func (s *Site) changeJob(w http.ResponseWriter, r *http.Request) error {
	action := r.PathValue("action")
	job, err := s.job(r)
	if err == nil && !slices.Contains(jobActions, jobs.ChangeKind(action)) {
		err = core.ErrNotFound
	}
	if err != nil {
		return err
	}
	change, err := s.Jobs.Edit(r.Context(), visitorOf(r).person.Name, false, tools.JobEdit{Job: job.ID, Action: action, Text: field(r, "by")})
	return s.changedJob(w, r, job, change, err)
}

// changedJob makes a change, and answers with what there is then and what is to be said of it. Job is the one that was changed; nil: it is
// a new one.
func (s *Site) changedJob(w http.ResponseWriter, r *http.Request, job *scheduler.Job, change *jobs.Change, err error) error {
	v, whole, all := visitorOf(r), job != nil && r.FormValue("whole") != "", r.FormValue("all") != ""
	if err == nil {
		err = s.Changer.Change(r.Context(), change, v.actor())
	}
	if err != nil {
		return notDone(err)
	}
	path := "/jobs"
	if whole {
		path += "/" + strconv.FormatInt(job.ID, 10)
	} else if all {
		path += "?all=1"
	}
	if !isPart(r) {
		http.Redirect(w, r, s.url(path), http.StatusSeeOther)
		return nil
	}
	said := s.Jobs.Said(change)
	name, body := "changed-job", any(nil)
	if whole {
		if change.Done.ID == job.ID { // else it was snoozed
			job = change.Done
		}
		body, err = s.wholeJob(r, job)
	} else {
		after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
		name = "changed-jobs"
		body, err = s.jobList(r.Context(), v, all, job == nil, after)
	}
	if err != nil {
		return err
	}
	return s.part(w, r, name, map[string]any{"Body": body, "Said": said})
}

// notDone is why nothing was done, for people.
func notDone(err error) error {
	refused, ok := errors.AsType[jobs.Refused](err)
	if !ok {
		return err
	}
	status := http.StatusBadRequest
	if refused.Code() == "not_found" {
		status = http.StatusNotFound
	}
	return refusal{status, whyNot(refused)}
}
