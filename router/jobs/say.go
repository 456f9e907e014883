package jobs

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/scheduler"
)

// named is a job with its number and kind, as a sentence begins.
func named(job *scheduler.Job) string {
	a := "a "
	if job.Payload == scheduler.PayloadMaintenance {
		a = ""
	}
	return fmt.Sprintf("Job %d, %s%s, %s", job.ID, a, job.Payload.Kind(), render.Escape(whenIs(job)))
}

// does says behind a colon what a job says or does.
func does(job *scheduler.Job, n int) string {
	return ": " + short(cmp.Or(job.Text, job.Name, "what has changed"), n)
}

// short is a text of a job in a line of others.
func short(text string, n int) string { return render.Escape(words.OneLine(text, n)) }

// A text is written part by part.
type text struct{ strings.Builder }

// add writes a part, if it belongs there.
func (t *text) add(is bool, format string, args ...any) {
	if is {
		fmt.Fprintf(t, format, args...)
	}
}

// A wording says what is to be said of jobs now.
type wording struct {
	now    time.Time
	off    string // no job runs here, in words; empty: they do
	begins func(scheduler.Payload) bool
}

func (d *Service) wording() *wording { return &wording{d.Now(), d.WhenOff(), d.Begins} }

// isOff says that a job does not run here.
func (w *wording) isOff(job *scheduler.Job) bool {
	return w.off != "" && job.Payload != scheduler.PayloadMaintenance
}

// made says what a job is from now on, to somebody who surely reads times in the zone own (empty: that is not
// known): when, with its zone unless it is that, what, and, of what comes again, the next three times.
func (w *wording) made(job *scheduler.Job, own string) string {
	what := named(job) + does(job, 300)
	if begins, ok := promises[job.Payload]; ok {
		what = begins + render.Escape(w.comes(job, own)) + does(job, 300)
	}
	last, _ := utf8.DecodeLastRuneInString(what)
	next, chosen := w.upcoming(job, 3), job.ChosenOptions()
	var t text
	fmt.Fprintf(&t, "%s", what)
	t.add(unicode.In(last, unicode.L, unicode.N), ".")
	t.add(job.Spec.At == "" && next != "", "\nNext: %s.", next)
	t.add(len(chosen) > 0, "\nOptions: %s.", render.Escape(strings.Join(chosen, ", ")))
	t.add(job.Spec.Assumed, "\nI do not know your time zone, so I took UTC. Where are you? A city is enough.")
	switch job.State {
	case scheduler.JobActive:
	case scheduler.JobDone:
		fmt.Fprintf(&t, "\nIt is over. Give it a new time to have it again.")
	default:
		fmt.Fprintf(&t, "\nIt is %s.", job.State)
	}
	t.add(w.isOff(job), "\n%s", render.Escape(w.off))
	return t.String()
}

// promises begin the sentence that says what a job does.
var promises = map[scheduler.Payload]string{
	scheduler.PayloadNotify: "I'll remind you ", scheduler.PayloadAgent: "I'll do this ",
	scheduler.PayloadHeartbeat: "I'll write only if something is new. I'll look into this ", scheduler.PayloadSend: "I'll send this ",
}

// comes is when a job is due: "tomorrow, Tue 24 Nov, 09:00 (Europe/Rome)".
func (w *wording) comes(job *scheduler.Job, own string) string {
	when := whenIs(job)
	if next, ok := job.Spec.Next(w.now); job.Spec.At != "" && ok {
		zone := job.Spec.Location()
		when = soon(next.In(zone), w.now.In(zone)) + " (" + job.Spec.Zone + ")"
	}
	if own == job.Spec.Zone && own != "UTC" { // which is also that of who named none
		when = strings.ReplaceAll(when, " ("+own+")", "")
	}
	return when
}

// soon is a time as people say it now.
func soon(t, now time.Time) string {
	clock := t.Format("15:04")
	switch wait, days := t.Sub(now), calendarDays(now, t); {
	case wait < 2*time.Minute:
		return "at " + t.Format("15:04:05")
	case wait < time.Hour:
		return fmt.Sprintf("in %d minutes, at %s", int(wait.Round(time.Minute).Minutes()), clock)
	case days == 0:
		return "today at " + clock
	case days == 1:
		return "tomorrow, " + t.Format("Mon 2 Jan, 15:04")
	case t.Year() == now.Year():
		return "on " + t.Format("Mon 2 Jan, 15:04")
	}
	return "on " + t.Format("Mon 2 Jan 2006, 15:04")
}

// calendarDays is how many midnights lie between two times of a zone.
func calendarDays(from, to time.Time) int {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(day(to).Sub(day(from)).Hours() / 24)
}

// whenIs is the spec of a job in words, always with its zone.
func whenIs(job *scheduler.Job) string {
	when := job.Spec.Words()
	if !strings.Contains(when, job.Spec.Zone) {
		when += " (" + job.Spec.Zone + ")"
	}
	return when
}

// upcoming are the next times of a job in its zone; empty: none is left.
func (w *wording) upcoming(job *scheduler.Job, n int) string {
	return strings.Join(w.next(job, n), ", ")
}

// next is upcoming, one by one.
func (w *wording) next(job *scheduler.Job, n int) (list []string) {
	if job.State != scheduler.JobActive {
		return nil
	}
	if left := job.Spec.Most - job.Runs; job.Spec.Most > 0 {
		n = min(n, max(left, 0))
	}
	after := w.now
	if job.Slot.After(after) { // one before it was skipped
		after = job.Slot.Add(-1)
	}
	for _, t := range job.Spec.Upcoming(after, n) {
		list = append(list, local(t, job))
	}
	return list
}

// local is an instant as people read it in the zone of a job.
func local(t time.Time, job *scheduler.Job) string {
	layout := "Mon 2 Jan 2006 15:04"
	if t.Second() != 0 {
		layout += ":05"
	}
	return t.In(job.Spec.Location()).Format(layout)
}

// line is a job in a list; with its owner where others' are listed too.
func line(job *scheduler.Job, owners bool) string {
	var t text
	fmt.Fprintf(&t, "- **%d** %s, %s%s", job.ID, job.Payload.Kind(), render.Escape(whenIs(job)), does(job, 80))
	t.add(owners, " – for %s", owner(job))
	t.add(job.State != scheduler.JobActive, " – **%s**", job.State)
	t.add(job.Away && job.State == scheduler.JobActive, " – **waits: %s is away**", short(job.Owner, 60))
	t.add(job.Taint != "", " – %s", source(job))
	return t.String() + "\n"
}

// owner is whose a job is, in words.
func owner(job *scheduler.Job) string { return short(cmp.Or(job.Owner, "the program"), 60) }

// source says of a job that was made after text from elsewhere was read where that came from.
func source(job *scheduler.Job) string {
	return "made after I read " + short(tools.Taint(job.Taint).Words(), 60)
}

// detail is all about a job; where names the chat in which it speaks.
func (w *wording) detail(job *scheduler.Job, owners bool, where string) string {
	next, chosen := w.upcoming(job, 3), job.ChosenOptions()
	var t text
	fmt.Fprintf(&t, "%s:\n\n%s\n", named(job), short(cmp.Or(job.Text, job.Name), 1000))
	t.add(owners, "\n- for %s", owner(job))
	t.add(where != "", "\n- speaks in %s", short(where, 120))
	fmt.Fprintf(&t, "\n- %s", job.State)
	t.add(job.Reason != "", ": %s", short(job.Reason, 200))
	t.add(job.Reason == "" && job.Away && job.State == scheduler.JobActive, ", but waits: %s is away, as the settings file no longer names them", short(job.Owner, 60))
	t.add(next != "", "\n- next: %s", next)
	t.add(len(chosen) > 0, "\n- options: %s", render.Escape(strings.Join(chosen, ", ")))
	fmt.Fprintf(&t, "\n- %s so far", words.Count(job.Runs, "run"))
	t.add(job.Failures == 1, ", the last one failed")
	t.add(job.Failures > 1, ", the last %d failed", job.Failures)
	t.add(job.Taint != "", "\n- %s, so its runs may do less", source(job))
	t.add(w.isOff(job), "\n\n%s", render.Escape(w.off))
	return t.String()
}

// runLine is what became of a slot, in a list.
func runLine(r *scheduler.Run, job *scheduler.Job) string {
	return "- " + runWords(r, job, short) + "\n"
}

// runWords is what became of a slot. Short makes a line of a text that is not ours.
func runWords(r *scheduler.Run, job *scheduler.Job, short func(string, int) string) string {
	lag := r.Lag().Round(100 * time.Millisecond)
	var t text
	fmt.Fprintf(&t, "%s", local(r.Slot, job))
	t.add(r.Count > 1, " to %s, %s", local(r.Last, job), words.Count(r.Count, "time"))
	fmt.Fprintf(&t, ": %s", r.State)
	t.add(r.Reason != "", " (%s)", short(r.Reason, 120))
	t.add(lag >= time.Second, ", began %s late", lag)
	t.add(r.Try > 1, ", try %d", r.Try)
	t.add(r.Turn != 0, ", turn %d", r.Turn)
	t.add(r.Delivery != "", ", %s", short(r.Delivery, 40))
	t.add(r.TokensIn+r.TokensOut > 0, ", %d tokens, cost %.4g", r.TokensIn+r.TokensOut, r.Cost)
	return t.String()
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

// became says what a change did, to somebody of whom made says more.
func (w *wording) became(c *Change, own string) string {
	job := c.Done
	kind := job.Payload.Kind()
	switch c.Kind {
	case PauseJob, RemoveJob:
		return fmt.Sprintf("I %sd %s %d%s", c.Kind, kind, job.ID, does(job, 100))
	case RunJob:
		if !w.begins(job.Payload) {
			return fmt.Sprintf("Job %d is due now. It runs when you start \"switchboard serve\".", job.ID)
		}
		return fmt.Sprintf("I'm running %s %d now.", kind, job.ID)
	case SkipJob:
		next := "No other is left."
		if on := w.upcoming(job, 1); on != "" {
			next = "The one after that is on " + on + "."
		}
		return fmt.Sprintf("I'll skip the next run of %s %d. %s", kind, job.ID, next)
	case SnoozeJob:
		return fmt.Sprintf("I'll remind you again on %s (%s)%s", local(c.Until, job), render.Escape(job.Spec.Zone), does(job, 100))
	case ResumeJob:
		return "Resumed. " + w.made(job, own)
	default:
		return w.made(job, own)
	}
}

// listed are jobs for people to read.
func (w *wording) listed(list []scheduler.Job, owners bool, after int64) string {
	var t text
	t.add(len(list) == 0 && after > 0, "There are no others.\n")
	t.add(len(list) == 0 && after <= 0, "No reminders yet. Try: `remind me tomorrow at 9 to call Ann`.\n")
	for i := range list {
		t.WriteString(line(&list[i], owners))
	}
	t.add(w.off != "", "\n%s", render.Escape(w.off))
	return t.String()
}

func runsOf(job *scheduler.Job, runs []scheduler.Run, before int64) string {
	if len(runs) == 0 && before == 0 {
		return fmt.Sprintf("Job %d has not run yet.", job.ID)
	} else if len(runs) == 0 {
		return "There are no earlier ones."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Job %d, times in %s:\n", job.ID, render.Escape(job.Spec.Zone))
	for i := range runs {
		b.WriteString(runLine(&runs[i], job))
	}
	return b.String()
}
