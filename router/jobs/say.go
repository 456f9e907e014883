package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
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

// made says what a job is from now on, to somebody who surely reads times in the zone own (empty: that is not
// known): when, with its zone unless it is that, what, and, of what comes again, the next three times.
func (d *Service) made(job *scheduler.Job, own string) string {
	text := named(job)
	if begins, ok := promises[job.Payload]; ok {
		text = begins + render.Escape(d.comes(job, own))
	}
	text += does(job, 300)
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.In(last, unicode.L, unicode.N) {
		text += "."
	}
	if next := d.upcoming(job, 3); job.Spec.At == "" && next != "" {
		text += "\nNext: " + next + "."
	}
	if beside := job.Beside(); len(beside) > 0 {
		text += "\nOptions: " + render.Escape(strings.Join(beside, ", ")) + "."
	}
	if job.Spec.Assumed {
		text += "\nI do not know your time zone, so I took UTC. Where are you? A city is enough."
	}
	switch job.State {
	case scheduler.JobActive:
	case scheduler.JobDone:
		text += "\nIt is over. Give it a new time to have it again."
	default:
		text += "\nIt is " + string(job.State) + "."
	}
	if off := d.WhenOff(); off != "" && job.Payload != scheduler.PayloadMaintenance {
		text += "\n" + render.Escape(off)
	}
	return text
}

// promises begin the sentence that says what a job does.
var promises = map[scheduler.Payload]string{
	scheduler.PayloadNotify: "I'll remind you ", scheduler.PayloadAgent: "I'll do this ",
	scheduler.PayloadHeartbeat: "I'll write only if something is new. I'll look into this ", scheduler.PayloadSend: "I'll send this ",
}

// comes is when a job is due: "tomorrow, Tue 24 Nov, 09:00 (Europe/Rome)".
func (d *Service) comes(job *scheduler.Job, own string) string {
	when := whenIs(job)
	if next, ok := job.Spec.Next(d.Now()); job.Spec.At != "" && ok {
		zone, err := scheduler.Zone(job.Spec.Zone)
		if err != nil {
			zone = time.UTC
		}
		when = soon(next.In(zone), d.Now().In(zone)) + " (" + job.Spec.Zone + ")"
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
func (d *Service) upcoming(job *scheduler.Job, n int) string {
	if job.State != scheduler.JobActive {
		return ""
	}
	if left := job.Spec.Most - job.Runs; job.Spec.Most > 0 {
		n = min(n, max(left, 0))
	}
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
	loc, err := scheduler.Zone(zone)
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
	text := fmt.Sprintf("- **%d** %s, %s%s", job.ID, job.Payload.Kind(), render.Escape(whenIs(job)), does(job, 80))
	if owners {
		text += " – for " + short(cmp.Or(job.Owner, "the program"), 60)
	}
	if job.State != scheduler.JobActive {
		text += " – **" + string(job.State) + "**"
	} else if job.Away {
		text += " – **waits: " + short(job.Owner, 60) + " is away**"
	}
	if job.Taint != "" {
		text += " – " + source(job)
	}
	return text + "\n"
}

// source says of a job that was made after text from elsewhere was read where that came from.
func source(job *scheduler.Job) string {
	return "made after I read " + short(tools.Taint(job.Taint).Words(), 60)
}

// where names the chat in which a job speaks; empty: in none.
func (d *Service) where(ctx context.Context, a *asking, job *scheduler.Job) string {
	if job.Target.Channel == "" {
		return ""
	}
	chat := channels.Conversation{Channel: job.Target.Channel, ID: channels.ConversationID(job.Target.Conversation)}
	if known, err := d.Chat(ctx, core.SessionKey(chat)); err == nil {
		chat.Kind, chat.Title = known.Kind, known.Title
	}
	return core.ChatWords(chat, a.conv)
}

// detail is all about a job; where names the chat in which it speaks.
func (d *Service) detail(job *scheduler.Job, owners bool, where string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n%s\n", named(job), short(cmp.Or(job.Text, job.Name), 1000))
	if owners {
		fmt.Fprintf(&b, "\n- for %s", short(cmp.Or(job.Owner, "the program"), 60))
	}
	if where != "" {
		b.WriteString("\n- speaks in " + short(where, 120))
	}
	fmt.Fprintf(&b, "\n- %s", job.State)
	if job.Reason != "" {
		b.WriteString(": " + short(job.Reason, 200))
	} else if job.Away && job.State == scheduler.JobActive {
		fmt.Fprintf(&b, ", but waits: %s is away, as the settings file no longer names them", short(job.Owner, 60))
	}
	if next := d.upcoming(job, 3); next != "" {
		fmt.Fprintf(&b, "\n- next: %s", next)
	}
	if beside := job.Beside(); len(beside) > 0 {
		b.WriteString("\n- options: " + render.Escape(strings.Join(beside, ", ")))
	}
	fmt.Fprintf(&b, "\n- %s so far", words.Count(job.Runs, "run"))
	if job.Failures > 0 {
		last := "one"
		if job.Failures > 1 {
			last = fmt.Sprint(job.Failures)
		}
		b.WriteString(", the last " + last + " failed")
	}
	if job.Taint != "" {
		b.WriteString("\n- " + source(job) + ", so its runs may do less")
	}
	if off := d.WhenOff(); off != "" && job.Payload != scheduler.PayloadMaintenance {
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
	buttons := []commands.Button{do("Pause", "pause", false), do("Run now", "run", true)}
	switch {
	case job.State == scheduler.JobRemoved, job.State == scheduler.JobDone:
		return []commands.Button{history}
	case job.State != scheduler.JobActive:
		buttons[0] = do("Resume", "resume", false)
	case job.Spec.At == "":
		buttons = append(buttons, do("Skip next", "skip", true))
	}
	if buttons = append(buttons, history); job.Owner == "" { // the program's own stays
		return buttons
	}
	return append(buttons, do("Delete", "delete", true))
}
