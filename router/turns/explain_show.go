package turns

import (
	"fmt"
	"strings"
	"time"

	"switchboard/internal/words"
)

// Show explains to an operator why a turn went as it did: what was asked and why it was
// taken, who worked on it, each step with the rule that decided about it and what it
// cost, and what became of each message. Currency is what costs are in, zone where the
// reader is. What people, models and tools wrote stands in it as it is.
func (e *Explanation) Show(currency string, zone *time.Location) string {
	return e.show(&report{currency: currency, zone: zone})
}

func (e *Explanation) show(t *report) string {
	t.line(0, "Turn %d: %s", e.ID, e.Ended())
	if t.full {
		t.line(0, "Session %s of %s", e.Session, e.Person)
	}
	if e.RetryOf != 0 {
		t.line(0, "It tries turn %d again and keeps what was already done there.", e.RetryOf)
	}
	if t.full && e.Job != 0 {
		t.line(0, "It is of job %d, under the terms %s", e.Job, e.Terms)
	}
	if e.NextTry != nil {
		t.line(0, "It waits for its model, next try %s", t.at(*e.NextTry))
	}
	t.asked(e)
	t.holders(e)
	for i := range e.Attempts {
		t.attempt(&e.Attempts[i])
	}
	t.said(e)
	if len(e.Audit) > 0 {
		t.line(0, "\nDone by hand")
		for _, a := range e.Audit {
			t.line(1, "%s  %s", t.at(a.At), a.Words())
		}
	}
	t.line(0, "\nCost: %s", e.Used(t.currency))
	return t.String()
}

// Words say what was done, and by whom.
func (a Audit) Words() string {
	return fmt.Sprintf("%s: %s %s, now %s (rule %s)", a.Person, a.Action, a.Target, a.Outcome, a.Rule)
}

// Used says what model calls the turn took, with tokens and cost.
func (e *Explanation) Used(currency string) string {
	return used(e.Calls, e.TokensIn, e.TokensOut) + price(e.Cost, currency)
}

// Ended says how the turn stands.
func (e *Explanation) Ended() string {
	text := words.Ended(e.State, e.Outcome)
	if e.MergedInto != 0 {
		text += fmt.Sprintf(", turn %d answers it", e.MergedInto)
	}
	if e.FinishedAt != nil {
		text += ", " + e.FinishedAt.Sub(e.askedAt()).Round(time.Millisecond).String() + " after it was asked"
	}
	return text
}

// askedAt is when the turn was asked for: when its message was written, where that was
// well before it was taken.
func (e *Explanation) askedAt() time.Time {
	if len(e.Asked) > 0 && e.Asked[0].Late() > 0 {
		return *e.Asked[0].WrittenAt
	}
	return e.CreatedAt
}

// lateFrom is how long after it was written a message has to be taken for that to be
// worth a word: platforms give whole seconds, by a clock of their own.
const lateFrom = 5 * time.Second

// Late is how long after it was written the message was taken, in whole seconds; zero: at once.
func (m *Message) Late() time.Duration {
	if m.WrittenAt == nil || m.At.Sub(*m.WrittenAt) < lateFrom {
		return 0
	}
	return m.At.Sub(*m.WrittenAt).Round(time.Second)
}

func (t *report) asked(e *Explanation) {
	t.line(0, "\nAsked")
	if len(e.Asked) == 0 {
		t.text(1, e.Text)
	}
	for i := range e.Asked {
		m := &e.Asked[i]
		when := t.at(m.At)
		if late := m.Late(); late > 0 {
			when = fmt.Sprintf("%s, taken at %s, %s later", t.at(*m.WrittenAt), when, late)
		}
		if added := e.Added(i); added != "" {
			when += ", " + added
		}
		t.line(1, "%s  %s", when, e.Writer(i))
		t.text(2, m.Text)
		if m.Why != "" {
			t.line(2, "%s", m.Admitted())
		}
		if m.Taint != "" {
			t.line(2, "%s", m.Tainted())
		}
	}
}

// Writer says who wrote the message of that position in Asked, and where.
func (e *Explanation) Writer(i int) string {
	m := &e.Asked[i]
	who := fmt.Sprintf("%s (%s)", m.Author, m.Identity)
	if i == 0 && e.Job != 0 {
		who = fmt.Sprintf("job %d of %s", e.Job, m.Person)
	}
	return fmt.Sprintf("%s in %s:%s", who, m.Channel, m.Conversation)
}

// Added says that the message of that position in Asked came in addition; empty: it is the turn's own.
func (e *Explanation) Added(i int) string {
	switch m := &e.Asked[i]; {
	case i == 0:
		return ""
	case m.Turn != 0 && m.Turn != e.ID:
		return fmt.Sprintf("added as turn %d", m.Turn)
	}
	return "added"
}

// Admitted says by which rule whoever wrote the message was let in.
func (m *Message) Admitted() string { return fmt.Sprintf("%s: %s (rule %s)", m.Person, m.Why, m.Rule) }

// Tainted says what the message holds that may not give orders.
func (m *Message) Tainted() string {
	return fmt.Sprintf("it holds text from elsewhere (%s), which may not give orders", m.Taint)
}

func (t *report) holders(e *Explanation) {
	if len(e.Holders) == 0 {
		t.line(0, "\nNo engine has worked on it.")
		return
	}
	t.line(0, "\nWorked on by")
	if e.HoldersCut {
		t.line(1, "earlier engines, not shown")
	}
	for i, h := range e.Holders {
		t.line(1, "%s  %s%s", t.at(h.From), h.Name(), e.waited(i))
	}
}

// waited says how long the turn waited for its first engine.
func (e *Explanation) waited(i int) string {
	if i > 0 || e.HoldersCut {
		return ""
	}
	return ", " + max(e.Holders[i].From.Sub(e.askedAt()), 0).Round(time.Millisecond).String() + " after it was asked"
}

// Worker says which engine worked on the turn, by its position in Holders.
func (e *Explanation) Worker(i int) string { return e.Holders[i].Name() + e.waited(i) }

// Name says which engine it is.
func (h Holder) Name() string {
	if h.PID == 0 {
		return fmt.Sprintf("engine %d", h.Engine)
	}
	return fmt.Sprintf("engine %d (host %s, process %d)", h.Engine, h.Host, h.PID)
}

func (t *report) attempt(a *Attempt) {
	t.line(0, "\n%s", a.heading(t.most(300)))
	for i := range a.Calls {
		t.call(1, &a.Calls[i])
	}
	for i := range a.Steps {
		s := &a.Steps[i]
		t.line(1, "%d. %s", s.Position+1, s.what(t.most(200)))
		if t.full && s.Expect != "" {
			t.line(2, "expect: %s", s.Expect)
		}
		t.line(2, "%s", s.Became())
		if t.full {
			t.lines(2, "| ", s.Output)
		}
		for j := range s.Calls {
			t.call(2, &s.Calls[j])
		}
		if s.Review != nil {
			t.line(2, "review: %s", s.verdict(t.most(300)))
		}
	}
}

// heading says what the plan was for, with so much of it.
func (a *Attempt) heading(most int) string {
	goal := "none that was valid"
	if a.Goal != "" {
		goal = words.OneLine(a.Goal, most)
	}
	return fmt.Sprintf("Plan %d: %s", a.Attempt+1, goal)
}

// Heading says what the plan was for.
func (a *Attempt) Heading() string { return a.heading(300) }

// Words say which model was asked, and what it took.
func (c Call) Words(currency string) string { return c.words(&report{currency: currency}) }

func (c *Call) words(t *report) string {
	text := fmt.Sprintf("%s asked %s/%s: %s, %s%s", c.Role, c.Provider, c.Model, c.Duration, c.tokens(), price(c.Cost, t.currency))
	if c.Reserved > 0 {
		text += "; it is being made" + price(c.Reserved, t.currency) + " set aside for it"
	}
	if c.Error != "" {
		text += "; it failed: " + words.OneLine(c.Error, t.most(maxModelFault))
	}
	if c.Refused != "" {
		text += "; the answer was refused: " + words.OneLine(c.Refused, t.most(300))
	}
	return text
}

func (t *report) call(depth int, c *Call) {
	t.line(depth, "%s", c.words(t))
	if len(c.Request) > 0 {
		t.line(depth+1, "request:")
		t.lines(depth+2, "", string(c.Request))
		t.line(depth+1, "answer:")
		t.lines(depth+2, "", c.Response)
	}
}

// what names a step, with so much of its arguments.
func (s *Task) what(args int) string {
	text := s.Type
	if s.Tool != "" {
		text += " " + s.Tool
	}
	if s.Args != "" {
		text += " " + words.OneLine(s.Args, args)
	}
	if s.Detail != "" {
		text += ": " + words.OneLine(s.Detail, 300)
	}
	return text
}

// Became says what became of a step, and which rule decided about it.
func (s *Task) Became() string {
	text := words.Ended(s.State, s.Outcome)
	switch {
	case s.State == "interrupted":
		text += ", cut off" // when is not known: it was written down by who found it
	case s.StartedAt != nil && s.FinishedAt != nil:
		text += " after " + s.FinishedAt.Sub(*s.StartedAt).Round(time.Millisecond).String()
	}
	switch {
	case s.Rule != "" && strings.HasPrefix(s.Outcome, "refused"):
		text += ", refused by rule " + s.Rule
	case s.Rule != "":
		text += ", allowed by rule " + s.Rule
	}
	if s.Reason != "" {
		text += ": " + words.OneLine(s.Reason, 300)
	}
	for i := range s.Approvals {
		text += "; rule " + s.Approvals[i].Rule + " asked: " + s.Approvals[i].Answer()
	}
	if s.Taint != "" {
		text += "; it holds text from elsewhere (" + s.Taint + ")"
	}
	return text
}

// Verdict is the reviewer's word; empty: nobody reviewed it.
func (s *Task) Verdict() string {
	if s.Review == nil {
		return ""
	}
	return s.verdict(300)
}

// verdict is the reviewer's word, with so much of its reason.
func (s *Task) verdict(reason int) string {
	if s.Review.Reason == "" {
		return s.Review.Status
	}
	return s.Review.Status + ", " + words.OneLine(s.Review.Reason, reason)
}

func (t *report) said(e *Explanation) {
	if len(e.Said) == 0 {
		t.line(0, "\nNothing was said.")
		return
	}
	t.line(0, "\nSaid")
	for i := range e.Said {
		m := &e.Said[i]
		kind := ""
		if m.Notice {
			kind = " (a fixed notice)"
		}
		t.line(1, "%s%s", t.at(m.At), kind)
		t.text(2, m.Text)
		for j := range m.Parts {
			t.line(2, "%s", m.Parts[j].Became())
		}
	}
}
