package agent

import (
	"math"
	"slices"
	"strings"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// contextTaint is the taint of what the planner reads: its plan derives from it.
func (r *record) contextTaint() tools.Taint {
	taint := incomingTaint(r.turn.Message)
	for _, added := range r.Added {
		taint = taint.Join(incomingTaint(added.Incoming))
	}
	taint = taint.JoinIf(r.turn.Session.Summary != "", r.turn.Session.SummaryTaint).JoinIf(len(r.Reports) > 0, tools.Others)
	for i := range r.Recent {
		line := &r.Recent[i]
		taint = taint.Join(lineTaint(line, r.turn.Person.Name)).JoinIf(len(line.Attachments) > 0, "file") // their names are outside text
	}
	return taint
}

// questions are those that a plan may put, and those put a little while ago that the person may have answered: what comes from elsewhere
// has no say in that.
func (r *record) questions() (open, asked []memory.Entry) {
	if r.turn.Limits.NoQuestions {
		return nil, nil
	}
	if open = r.known.Of(memory.Question); r.taint != tools.Clean || strings.TrimSpace(r.ownWords()) == "" {
		return open, nil
	}
	return open, r.known.Asked
}

// incomingTaint is the taint of what a message brings along.
func incomingTaint(m Incoming) tools.Taint {
	return m.Taint.JoinIf(m.Quote != "", "quote").JoinIf(len(m.Passed) > 0, "forwarded").JoinIf(len(m.Attachments) > 0, "file")
}

// lineTaint is the taint of a line for the turn's person: what others wrote, names
// included, and what they were answered is outside text.
func lineTaint(line *Line, person string) tools.Taint {
	others := line.Bot && line.To != "" && line.To != person || !line.Bot && line.Author != person
	return line.Taint.JoinIf(others, tools.Others).JoinIf(line.ForwardedFrom != "", "forwarded")
}

// formerTaint is the taint of what earlier turns brought, which the planner reads.
func formerTaint(former []Former) (taint tools.Taint) {
	for _, f := range former {
		for _, task := range tasksOf(f.Plans) {
			if task.Result != nil {
				taint = taint.Join(task.Result.Taint)
			}
			if task.Review != nil {
				taint = taint.Join(task.Review.Taint)
			}
		}
	}
	return taint
}

// A spoken is one message of the turn as it reads now.
type turnMessage struct {
	Incoming
	former []Incoming // what it was before it was edited, oldest first
}

// written is what the person wrote for an attempt, a line for each message.
func (r *record) written(attempt int) string {
	var said strings.Builder
	for _, m := range r.messages(attempt) {
		said.WriteString(m.Text + "\n")
	}
	return said.String()
}

// messages is what the person said as far as that attempt heeds it: the turn's
// message first, then what was added.
func (r *record) messages(attempt int) []turnMessage {
	list := []turnMessage{{Incoming: r.turn.Message}}
	for _, added := range r.Added {
		if added.From > attempt {
			continue
		}
		i := -1
		if added.Replaces != 0 { // a message, or what it was
			i = slices.IndexFunc(list, func(s turnMessage) bool {
				return s.ID == added.Replaces || slices.ContainsFunc(s.former, func(m Incoming) bool { return m.ID == added.Replaces })
			})
		}
		if i < 0 {
			list = append(list, turnMessage{Incoming: added.Incoming})
			continue
		}
		list[i] = turnMessage{Incoming: added.Incoming, former: append(list[i].former, list[i].Incoming)}
	}
	return list
}

// outdated says that something was added that the attempt does not heed.
func (r *record) outdated(attempt int) bool {
	return slices.ContainsFunc(r.Added, func(a Added) bool { return a.From > attempt })
}

// ownWords are the person's own words in the turn, as their messages read now. What a job asks
// for that was made after text from elsewhere was read may not be.
func (r *record) ownWords() string {
	if r.turn.Limits.Run != 0 && r.turn.Message.Taint != tools.Clean {
		return ""
	}
	var texts []string
	for _, m := range r.messages(math.MaxInt) {
		for line := range strings.Lines(m.Text) {
			if !strings.HasPrefix(strings.TrimSpace(line), ">") { // quoted by hand
				texts = append(texts, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return strings.Join(texts, "\n")
}

// heeded is how many additions the attempt heeds.
func (r *record) heeded(attempt int) (n int) {
	for _, added := range r.Added {
		if added.From <= attempt {
			n++
		}
	}
	return n
}
