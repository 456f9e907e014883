package view

import (
	"fmt"
	"strings"
	"time"

	"switchboard/internal/words"
)

// Show says a turn whole: what was asked, its plans with all that their tasks brought,
// what was said and every model call. Currency is what costs are in, zone where the
// reader is. What people, models and tools wrote stands in it as it is.
func (v *Turn) Show(currency string, zone *time.Location) string {
	t := &report{currency: currency, zone: zone}
	t.line(0, "turn %d  %s", v.ID, words.Ended(v.State, v.Outcome))
	t.line(0, "session  %s\nperson   %s\nasked    %s", v.Session, v.Person, t.at(v.CreatedAt))
	if v.MergedInto != 0 {
		t.line(0, "merged   into turn %d, which answers it", v.MergedInto)
	}
	if v.RetryOf != 0 {
		t.line(0, "retries  turn %d", v.RetryOf)
	}
	if v.Job != 0 {
		t.line(0, "job      %d, under the terms %s", v.Job, v.Terms)
	}
	if v.FinishedAt != nil {
		t.line(0, "ended    %s, after %s", t.at(*v.FinishedAt), v.FinishedAt.Sub(v.CreatedAt).Round(time.Millisecond))
	}
	if v.NextTry != nil {
		t.line(0, "waits    for its model, next try %s", t.at(*v.NextTry))
	}
	t.line(0, "cost     %s\n", t.cost(v.Calls, v.TokensIn, v.TokensOut, v.Cost))
	t.indent("", v.Text)
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Direction == "in" && m.Turn != 0 && m.Turn != v.ID {
			t.line(0, "\nadded %s, as turn %d", t.at(m.At), m.Turn)
			t.indent("  ", m.Text)
		}
	}
	for i := range v.Plans {
		t.line(0, "\nplan %d: %s", v.Plans[i].Attempt+1, v.Plans[i].Goal)
		for j := range v.Plans[i].Tasks {
			t.task(&v.Plans[i].Tasks[j])
		}
	}
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Direction == "out" {
			t.line(0, "\nsaid%s", map[bool]string{true: " (final)"}[m.Final])
			t.indent("  ", m.Text)
		}
	}
	for i := range v.LLM {
		c := &v.LLM[i]
		t.line(0, "\ncall %s  %s/%s  %s  %s%s", c.Step, c.Provider, c.Model, c.Duration, c.tokens(), t.price(c.Cost))
		if c.Reserved > 0 {
			t.line(1, "it is being made%s set aside for it", t.price(c.Reserved))
		}
		if c.Error != "" {
			t.line(1, "error: %s", c.Error)
		}
		if c.Refused != "" {
			t.line(1, "refused: %s", c.Refused)
		}
		if len(c.Request) > 0 {
			t.line(1, "request:")
			t.indent("    ", string(c.Request))
			t.line(1, "answer:")
			t.indent("    ", c.Response)
		}
	}
	return t.String()
}

func (t *report) task(s *Task) {
	what := s.Type
	if s.Tool != "" {
		what += " " + s.Tool + " " + s.Args
	}
	t.line(1, "%d. [%s] %s: %s", s.Position+1, words.Ended(s.State, s.Outcome), what, words.OneLine(s.Detail, 300))
	if s.Expect != "" {
		t.line(1, "   expect: %s", words.OneLine(s.Expect, 300))
	}
	t.indent("     | ", s.Output)
	if s.Taint != "" {
		t.line(1, "   tainted: %s", s.Taint)
	}
	if r := s.Review; r != nil && r.Reason != "" {
		t.line(1, "   review: %s, %s", r.Status, r.Reason)
	} else if r != nil {
		t.line(1, "   review: %s", r.Status)
	}
}

// report is a text in the making.
type report struct {
	strings.Builder
	currency string
	zone     *time.Location
}

func (t *report) line(depth int, format string, args ...any) {
	t.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(t, format, args...)
	t.WriteByte('\n')
}

func (t *report) at(when time.Time) string { return when.In(t.zone).Format("2006-01-02 15:04:05 MST") }

// cost says what model calls cost.
func (t *report) cost(calls int, in, out int64, cost float64) string {
	return fmt.Sprintf("%s, %d tokens in, %d out%s", words.Count(calls, "model call"), in, out, t.price(cost))
}

// tokens are what a call used.
func (c *Call) tokens() string {
	in := fmt.Sprintf("%d in", c.TokensIn)
	if c.CachedTokens > 0 {
		in += fmt.Sprintf(" (%d cached)", c.CachedTokens)
	}
	return fmt.Sprintf("%s, %d out", in, c.TokensOut)
}

// price is what something cost, as the end of a list; nothing where no price is known.
func (t *report) price(cost float64) string {
	if cost == 0 {
		return ""
	}
	return fmt.Sprintf(", %.6f %s", cost, t.currency)
}

// indent writes every line of text with by before it.
func (t *report) indent(by, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		t.line(0, "%s%s", by, strings.TrimRight(line, "\n"))
	}
}
