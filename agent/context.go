package agent

import (
	"fmt"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// What each role sees. The system part is stable, so that providers can cache it;
// the user part holds the rest. Sections, in order:
//
//	planner   system: role file, Permitted tools
//	          user:   Date and time, Where you speak, Known facts, Open questions,
//	                  Summary so far, Recent messages, [How to use tools], [Tried before], [Planning again,
//	                  Earlier attempts, Completed tasks, Remaining tasks, What failed or What was stopped],
//	                  [Your last plan, Faults in your last plan], [Attachments],
//	                  [Quoted message], [Passed on], [Added meanwhile], New message
//	worker    user:   Known facts, Summary so far, Outputs of earlier tasks, Task
//	reviewer  user:   Goal, The person's request (and what was added to it), Task,
//	                  Expected, Output,
//	                  [Faults in your last verdict]
//
// Nobody sees more: the worker never the conversation, the reviewer no facts.

func (r *run) plannerPrompt(attempt int, retry planRetry, size int) (system, user string) {
	system = r.plannerSystem()
	return system, fit(room(size, system), len(r.state.Recent), func(cut cut) string {
		return r.plannerUser(attempt, retry, cut)
	})
}

// room is what size leaves for the user part; never 0, which means any.
func room(size int, system string) int {
	if size <= 0 {
		return 0
	}
	return max(1, size-llm.Tokens(system))
}

func (r *run) plannerUser(attempt int, retry planRetry, cut cut) string {
	var p prompt
	r.date(&p)
	r.place(&p)
	r.knowledge(&p)
	if len(r.state.Questions) > 0 {
		p.section("Open questions")
		for _, question := range r.state.Questions {
			p.item(question.Text, question.Taint)
		}
	}
	r.summary(&p)
	r.recent(&p, cut.lines)
	r.pages(&p, attempt, retry, cut)
	r.former(&p, cut)
	if attempt > 0 {
		r.history(&p, attempt, cut)
	}
	if len(retry.faults) > 0 {
		p.section("Your last plan")
		p.linef("Write it again without the faults below.")
		p.data(clip(retry.answer, min(cut.output, 8<<10)))
		p.faults("Faults in your last plan", retry.faults)
	}
	r.message(&p, r.messages(attempt))
	return p.String()
}

func (r *run) date(p *prompt) {
	name := r.turn.Session.TimeZone
	zone, err := time.LoadLocation(name)
	if err != nil {
		name, zone = "UTC", time.UTC
	}
	now := r.opts.Now()
	p.section("Date and time")
	p.linef("%s (%s)\n%s", now.In(zone).Format("Monday, 2 January 2006, 15:04:05 -07:00"), name, now.UTC().Format(time.RFC3339))
}

func (r *run) place(p *prompt) {
	place, session := r.turn.Place, r.turn.Session
	p.section("Where you speak")
	where := "a group, where others read along"
	if place.Direct {
		where = "a direct chat"
	}
	p.linef("- Channel: %s, %s", oneLine(place.Channel), where)
	p.linef("- You work for: %s (role %s)", oneLine(r.turn.Person.Name), oneLine(r.turn.Person.Role))
	if session.Mode != "" {
		p.linef("- Mode: %s", oneLine(session.Mode))
	}
	if session.Language != "" {
		p.linef("- Language: %s", oneLine(session.Language))
	}
	if place.MaxText > 0 {
		p.linef("- Longest part of a message: %d characters; longer ones are split", place.MaxText)
	}
	p.linef("- Formatting: %s; files: %s; buttons for choices: %s", word(place.Rich, "Markdown", "plain text"), word(place.Files, "yes", "no"), word(place.Buttons, "yes", "no (choices are numbered lines)"))
	var withheld, asked []string
	ask := func(name string, effect tools.Effect, sends string) {
		switch d := r.decide(tools.Question{Tool: name, Effect: effect, Sends: sends}); d.Verdict {
		case tools.Refuse:
			if r.turn.Person.Role != "admin" && tools.Named(tools.AdminTools, name) {
				return // what users never have
			}
			withheld = append(withheld, fmt.Sprintf("  - %s: %s (rule %s)", name, oneLine(d.Reason), oneLine(d.Rule)))
		case tools.Ask:
			asked = append(asked, name)
		}
	}
	ask(tools.ExecName, r.execEffect(), "")
	for _, tool := range r.toolbox.All() {
		sends := ""
		if tool.Sends != "" {
			sends = "any" // which one is not known yet
		}
		ask(tool.Name, tool.Effect, sends)
	}
	r.terms(p)
	switch {
	case len(asked) > 0 && r.turn.Terms.NoApprovals:
		p.linef("- Refused, as nobody is there to be asked, unless they allowed the very same before: %s", strings.Join(asked, ", "))
	case len(asked) > 0:
		p.linef("- A person is asked first, each time (plan it all the same): %s", strings.Join(asked, ", "))
	}
	if len(withheld) > 0 {
		p.linef("- Withheld here:\n%s", strings.Join(withheld, "\n"))
	}
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func oneLine(text string) string { return clip(strings.Join(strings.Fields(text), " "), 300) }

func (r *run) knowledge(p *prompt) {
	if len(r.state.Facts) == 0 {
		return
	}
	p.section("Known facts")
	for _, fact := range r.state.Facts {
		p.item(fact.Text, fact.Taint)
	}
}

func (r *run) summary(p *prompt) {
	if r.turn.Session.Summary == "" {
		return
	}
	p.section("Summary so far")
	p.text(r.turn.Session.Summary, r.turn.Session.SummaryTaint)
}

// lineTaint is the taint of a line for the turn's person: what others wrote, names
// included, and what they were answered is outside text.
func lineTaint(line *Line, person string) tools.Taint {
	taint := line.Taint
	if line.Bot && line.To != "" && line.To != person || !line.Bot && line.Author != person {
		taint = taint.Join(tools.Others)
	}
	if line.ForwardedFrom != "" {
		taint = taint.Join("forwarded")
	}
	return taint
}

// recent shows the newest n lines of the conversation.
func (r *run) recent(p *prompt, n int) {
	if len(r.state.Recent) == 0 {
		return
	}
	p.section("Recent messages")
	lines := r.state.Recent[len(r.state.Recent)-n:]
	if left := len(r.state.Recent) - n; left > 0 {
		p.linef("(%d earlier messages left out)", left)
	}
	for _, line := range lines {
		author := line.Author
		if line.Bot {
			author = "you"
		} else if line.Job {
			author = "a job of " + author
		}
		at := ""
		if !line.At.IsZero() {
			at = line.At.UTC().Format("2006-01-02 15:04") + " "
		}
		p.item(at+author+": "+forwarded(line.ForwardedFrom, line.Text), lineTaint(&line, r.turn.Person.Name))
		if len(line.Attachments) > 0 {
			p.data("Attachments of that message:\n" + attachments(line.Attachments))
		}
	}
}

func (p *prompt) faults(title string, faults []string) {
	p.section(title)
	for i, fault := range faults[:min(len(faults), 50)] {
		p.linef("%d. %s", i+1, oneLine(fault))
	}
}
