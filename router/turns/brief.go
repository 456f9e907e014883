package turns

import (
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/outbox"
)

// Repeated is the taint of a turn's words where they are repeated to person.
func (v *Turn) Repeated(person string) tools.Taint {
	t := tools.Taint(v.Taint)
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Direction == "in" {
			t = t.Join(tools.Taint(m.Taint))
		}
	}
	for i := range v.Plans {
		for j := range v.Plans[i].Tasks {
			t = t.Join(tools.Taint(v.Plans[i].Tasks[j].Taint))
		}
	}
	if v.Person != person {
		t = t.Join(tools.Others)
	}
	return t
}

// builtIn is the provider of the model that the program has itself, which costs nothing.
const builtIn = "offline"

// briefSteps is how many steps of one plan /why and /plan show.
const briefSteps = 20

// ModelFault is what was wrong with the last model that was asked; empty: it answered,
// or none was asked.
func (v *Turn) ModelFault() string {
	if len(v.LLM) == 0 {
		return ""
	}
	return words.OneLine(v.LLM[len(v.LLM)-1].Error, maxModelFault)
}

// maxModelFault is room for a provider's own words and what is to be mended, in runes.
const maxModelFault = 700

// brief is a plan with what became of its steps, in Markdown.
func (a *Attempt) brief() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Plan %d: %s", a.Attempt+1, render.Escape(words.OneLine(a.Goal, 200)))
	for i := range a.Steps[:min(len(a.Steps), briefSteps)] {
		s := &a.Steps[i]
		fmt.Fprintf(&b, "\n%d\\. %s – %s", s.Position+1, render.Escape(s.Words(i == len(a.Steps)-1)), render.Escape(s.briefly()))
		if s.Review != nil && s.Review.Status != "ok" {
			fmt.Fprintf(&b, "; not good enough: %s", render.Escape(words.OneLine(s.Review.Reason, 300)))
		}
	}
	return b.String()
}

// BriefPlan is the newest plan as Brief has it; empty: there is none.
func (v *Turn) BriefPlan() string {
	if len(v.Plans) == 0 {
		return ""
	}
	e := v.Explanation()
	return fmt.Sprintf("**Answer %d**, %s.\n\n%s", v.ID, render.Escape(e.Ended()), e.attempt(v.Plans[len(v.Plans)-1].Attempt).brief())
}

// Brief explains the turn to the person in the chat, in Markdown; what went wrong with the model in
// full or not.
func (v *Turn) Brief(full bool) string {
	e := v.Explanation()
	var b strings.Builder
	fmt.Fprintf(&b, "**Answer %d**, %s.", e.ID, render.Escape(e.Ended()))
	if len(e.Asked) > 0 {
		m := &e.Asked[0]
		late := ""
		if by := m.Late(); by > 0 {
			late = fmt.Sprintf(" (%s before it reached me)", by)
		}
		who := m.Author
		if e.Job != 0 {
			who = fmt.Sprintf("Job %d of %s", e.Job, m.Person)
		}
		fmt.Fprintf(&b, "\n%s asked%s: %s", render.Escape(who), render.Escape(late), render.Escape(words.OneLine(m.Text, 100)))
		if m.Why != "" {
			fmt.Fprintf(&b, "\n%s was %s.", render.Escape(m.Person), render.Escape(m.Why))
		}
	}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		for j := range a.Calls {
			if why := a.Calls[j].Refused; why != "" {
				fmt.Fprintf(&b, "\n\nA plan was refused: %s", render.Escape(words.OneLine(why, 200)))
			}
		}
		if a.Goal == "" {
			without := "none that was valid"
			if n := len(a.Calls); n > 0 && a.Calls[n-1].Error != "" {
				without = "none, because the language model gave no answer"
			}
			fmt.Fprintf(&b, "\n\nPlan %d: %s.", a.Attempt+1, without)
			continue
		}
		b.WriteString("\n\n" + a.brief())
	}
	if fault := v.ModelFault(); fault != "" && full {
		fmt.Fprintf(&b, "\n\nThe language model failed: %s", render.Escape(fault))
	}
	if slices.ContainsFunc(v.LLM, func(c Call) bool { return c.Provider != builtIn }) {
		fmt.Fprintf(&b, "\n\nCost: %s.", render.Escape(used(e.Calls, e.TokensIn, e.TokensOut)))
	}
	for i := range e.Said {
		for j := range e.Said[i].Parts {
			if d := &e.Said[i].Parts[j]; d.State != string(outbox.DeliverySent) || d.Repeated {
				fmt.Fprintf(&b, "\nOf what I said, %s.", render.Escape(d.Became()))
			}
		}
	}
	return b.String()
}
