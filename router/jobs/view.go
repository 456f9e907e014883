package jobs

import (
	"context"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/scheduler"
)

// A View is a job in plain words, for who sees it as parts. Times are in its zone.
type View struct {
	When    string // with the zone
	Next    []string
	Options []string
	Source  string // where the text that was read before it was made came from; empty: none was
	Off     string // why no job of its kind runs here; empty: they do
}

// View says of a job when it comes, with its next times, n at most.
func (d *Service) View(job *scheduler.Job, n int) View {
	w := d.wording()
	v := View{When: whenIs(job), Next: w.next(job, n), Options: job.ChosenOptions()}
	if job.Taint != "" {
		v.Source = tools.Taint(job.Taint).Words()
	}
	if w.isOff(job) {
		v.Off = w.off
	}
	return v
}

// Where names the chat in which a job speaks; empty: in none.
func (d *Service) Where(ctx context.Context, job *scheduler.Job) string {
	return d.where(ctx, machine(job.Owner), job)
}

// RunWords says what became of a slot of a job, in plain text.
func RunWords(r *scheduler.Run, job *scheduler.Job) string { return runWords(r, job, words.OneLine) }

// Read says when a job would be due that Add would make, or, with a number, as Edit would have it. It changes nothing.
func (d *Service) Read(ctx context.Context, person string, id int64, of tools.NewJob) (string, error) {
	if id != 0 {
		change, err := d.Edit(ctx, person, false, tools.JobEdit{Job: id, Action: string(EditJob), When: of.When, Text: of.Text, Zone: of.Zone})
		if err != nil {
			return "", err
		}
		return d.wording().means(change.Job), nil
	}
	a, r, err := d.wanted(ctx, person, false, of)
	if err != nil {
		return "", err
	}
	when, err := d.when(a, d.hide(r))
	if err != nil {
		return "", err
	}
	job := &scheduler.Job{Payload: r.payload, Spec: when.Spec}
	if err := d.mayRun(job); err != nil {
		return "", err
	}
	return d.wording().means(job), nil
}

// means says when a job that is not kept yet would be due.
func (w *wording) means(job *scheduler.Job) string {
	active := *job
	active.State, active.Slot = scheduler.JobActive, time.Time{} // that is of the time before
	said := "That is: " + w.comes(&active, "")
	if next := w.upcoming(&active, 3); next != "" && job.Spec.At == "" {
		said += "; next " + next
	}
	return said + "."
}
