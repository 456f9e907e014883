package jobs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/scheduler"
	"switchboard/words"
)

// kindOf is what people call a job.
func kindOf(p scheduler.Payload) string {
	switch p {
	case scheduler.PayloadNotify:
		return "reminder"
	case scheduler.PayloadAgent:
		return "task"
	case scheduler.PayloadSend:
		return "message"
	}
	return string(p)
}

// short is a text of a job in a line of others.
func short(text string, n int) string { return render.Escape(words.OneLine(text, n)) }

// made says what a job is from now on: its number, the local time with its zone, and, of what comes again,
// the next three times.
func (d *Desk) made(job *scheduler.Job) string {
	text := fmt.Sprintf("Job %d, a %s, %s: %s", job.ID, kindOf(job.Payload), render.Escape(whenIs(job)), short(job.Text, 300))
	if next := d.upcoming(job, 3); job.Spec.At == "" && next != "" {
		text += "\nNext: " + next + "."
	}
	if beside := job.Beside(); len(beside) > 0 {
		text += "\nOptions: " + render.Escape(strings.Join(beside, ", ")) + "."
	}
	if off := d.WhenOff(); off != "" {
		text += "\n" + render.Escape(off)
	}
	return text
}

// whenIs is the spec of a job in words, always with its zone.
func whenIs(job *scheduler.Job) string {
	when := job.Spec.String()
	if !strings.Contains(when, job.Spec.Zone) {
		when += " (" + job.Spec.Zone + ")"
	}
	return when
}

// upcoming are the next times of a job in its zone; empty: none is left.
func (d *Desk) upcoming(job *scheduler.Job, n int) string {
	after := d.Now()
	if job.Slot.After(after) { // one before it was skipped
		after = job.Slot.Add(-1)
	}
	var list []string
	for _, t := range job.Spec.Upcoming(after, n) {
		list = append(list, local(t, job.Spec.Zone))
	}
	return strings.Join(list, ", ")
}

// local is an instant as people in a zone read it.
func local(t time.Time, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	layout := "Mon 2 Jan 2006 15:04"
	if t.Second() != 0 {
		layout += ":05"
	}
	return t.In(loc).Format(layout)
}

// line is a job in a list; with its owner where others' are listed too.
func line(job *scheduler.Job, owners bool) string {
	text := fmt.Sprintf("- **%d** %s, %s: %s", job.ID, kindOf(job.Payload), render.Escape(whenIs(job)), short(cmp.Or(job.Name, job.Text), 80))
	if owners {
		text += " – of " + short(cmp.Or(job.Owner, "the program"), 60)
	}
	if job.State != scheduler.JobActive {
		text += " – **" + string(job.State) + "**"
	}
	return text + "\n"
}

// detail is all about a job.
func (d *Desk) detail(job *scheduler.Job, owners bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Job %d, a %s, %s:\n\n%s\n", job.ID, kindOf(job.Payload), render.Escape(whenIs(job)), short(cmp.Or(job.Text, job.Name), 1000))
	if owners {
		fmt.Fprintf(&b, "\n- of %s", short(cmp.Or(job.Owner, "the program"), 60))
	}
	if job.Target.Channel != "" {
		fmt.Fprintf(&b, "\n- speaks in %s", short(job.Target.Channel+":"+job.Target.Conversation, 120))
	}
	fmt.Fprintf(&b, "\n- %s", job.State)
	if job.Reason != "" {
		b.WriteString(": " + short(job.Reason, 200))
	}
	if next := d.upcoming(job, 3); next != "" && job.State == scheduler.JobActive {
		fmt.Fprintf(&b, "\n- next: %s", next)
	}
	if beside := job.Beside(); len(beside) > 0 {
		b.WriteString("\n- options: " + render.Escape(strings.Join(beside, ", ")))
	}
	fmt.Fprintf(&b, "\n- %s so far", words.Count(job.Runs, "run"))
	if job.Failures > 0 {
		fmt.Fprintf(&b, ", the last %d failed", job.Failures)
	}
	if job.Taint != "" {
		fmt.Fprintf(&b, "\n- made after reading text from elsewhere (%s), and runs as such", short(tools.Taint(job.Taint).Words(), 60))
	}
	if off := d.WhenOff(); off != "" {
		b.WriteString("\n\n" + render.Escape(off))
	}
	return b.String()
}

// runLine is what became of a slot.
func runLine(r *scheduler.Run, zone string) string {
	text := "- " + local(r.Slot, zone)
	if r.Count > 1 {
		text += fmt.Sprintf(" to %s, %s", local(r.Last, zone), words.Count(r.Count, "time"))
	}
	text += ": " + string(r.State)
	if r.Reason != "" {
		text += " (" + short(r.Reason, 120) + ")"
	}
	if lag := r.Lag().Round(100 * time.Millisecond); lag >= time.Second {
		text += ", began " + lag.String() + " late"
	}
	if r.Try > 1 {
		text += fmt.Sprintf(", try %d", r.Try)
	}
	if r.Turn != 0 {
		text += fmt.Sprintf(", turn %d", r.Turn)
	}
	if r.Delivery != "" {
		text += ", " + short(r.Delivery, 40)
	}
	if r.TokensIn+r.TokensOut > 0 {
		text += fmt.Sprintf(", %d tokens, cost %.4g", r.TokensIn+r.TokensOut, r.Cost)
	}
	return text + "\n"
}

// taintOf is the taint of texts of jobs for somebody: the words of others are.
func taintOf(person string, list ...scheduler.Job) (t tools.Taint) {
	for i := range list {
		t = t.Join(tools.Taint(list[i].Taint))
		if list[i].Owner != person && list[i].Owner != "" {
			t = t.Join(tools.Others)
		}
	}
	return t
}

// jobButtons are what can be done with a job.
func jobButtons(job *scheduler.Job) []commands.Button {
	do := func(label, verb string, beside bool) commands.Button {
		return commands.Button{Label: label, Command: fmt.Sprintf("jobs %d %s", job.ID, verb), Beside: beside}
	}
	history := do("History", "history", false)
	switch {
	case job.State == scheduler.JobRemoved, job.State == scheduler.JobDone:
		return []commands.Button{history}
	case job.State != scheduler.JobActive:
		return []commands.Button{do("Resume", "resume", false), do("Run now", "run", true), history, do("Delete", "delete", true)}
	}
	buttons := []commands.Button{do("Pause", "pause", false), do("Run now", "run", true)}
	if job.Spec.At == "" {
		buttons = append(buttons, do("Skip next", "skip", true))
	}
	if job.Owner == "" {
		return append(buttons, history)
	}
	return append(buttons, history, do("Delete", "delete", true))
}
