package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// The roles in which models do the work of memory.
const (
	RoleCurator     = "curator"
	RoleSummarizer  = "summarizer"
	RoleParaphraser = "paraphraser"
)

// An Asker asks the model of a role; agent.Agent has one.
type Asker interface {
	// Complete asks under the role's own prompt, unless req has a System. An answer that is no good is one all the same.
	Complete(ctx context.Context, role string, req llm.Request) (llm.Response, error)
}

// ErrFaulty says that a model gave no usable answer, however often it was asked.
var ErrFaulty = errors.New("the model gave no usable answer")

// ForWords says that a call failed for the words it was about, and not for want of a model, nor because they were too many.
func ForWords(err error) bool {
	return (errors.Is(err, ErrFaulty) || errors.Is(err, llm.ErrRefused)) && !llm.Away(err) && !errors.Is(err, llm.ErrContextTooLong)
}

// A Clerk has models do the work of memory. Besides what each says, its methods return ErrFaulty and the errors of its Asker; nothing is
// to be changed then. After llm.ErrContextTooLong they may be called with less.
type Clerk struct {
	Asker
	Retries int  // how often an answer with faults goes back
	Rules   bool // rules may be proposed
}

// A Said is one message of a conversation.
type Said struct {
	By    string // a name; empty: the bot
	At    time.Time
	Text  string
	Taint tools.Taint
}

// A task is what a model is asked for: a list, in an object of a strict schema.
type task struct {
	role   string
	prompt string // empty: the role's own
	list   string
	schema llm.Schema
}

// ask asks until read finds no faults in an answer, and returns what it read.
func ask[T any](ctx context.Context, c Clerk, t *task, write func(*form.Prompt), read func(*form.Fields) T) (none T, err error) {
	var faults []string
	answer := ""
	for range 1 + max(0, c.Retries) {
		var p form.Prompt
		write(&p)
		if len(faults) > 0 {
			p.Section("Your last answer")
			p.Linef("Write it again without the faults below.")
			p.Data(tools.Shorten(answer, 4<<10, 1<<10))
			p.Faults("Faults in your last answer", faults)
		}
		response, err := c.Complete(ctx, t.role, llm.Request{System: t.prompt, User: p.String(), Schema: &t.schema})
		if err != nil {
			return none, err
		}
		answer = response.Text
		f, got := &form.Fields{}, none
		if f.Open(answer, t.list); len(f.Faults) == 0 {
			got = read(f)
		}
		if faults = f.Faults; len(faults) == 0 {
			return got, nil
		}
	}
	return none, fmt.Errorf("%w: %s: %s", ErrFaulty, t.schema.Name, tools.Shorten(strings.Join(faults, "; "), 400, 100))
}

// said shows messages, those fenced that are tainted.
func said(p *form.Prompt, lines []Said) {
	p.Section("Messages")
	for i, line := range lines {
		by := line.By
		if by == "" {
			by = "you"
		}
		p.Words(fmt.Sprintf("%d. %s %s: ", i+1, line.At.UTC().Format("2006-01-02 15:04"), form.Label(by)), form.Tidy(line.Text), line.Taint != tools.Clean)
	}
}

// heard are entries with the taint that they have for a person.
func heard(person string, list []Entry) []Entry {
	list = slices.Clone(list)
	for i := range list {
		list[i].Taint = list[i].TaintFor(person)
	}
	return list
}

// entries shows what is remembered, numbered.
func entries(p *form.Prompt, title string, list []Entry) {
	if len(list) == 0 {
		return
	}
	p.Section(title)
	for i, e := range list {
		about := e.CreatedAt.UTC().Format(time.DateOnly)
		if e.Key != "" {
			about += ", " + form.Label(e.Category) + ": " + form.Label(e.Key)
		}
		p.Words(fmt.Sprintf("%d. (%s) ", i+1, about), e.Text, e.Taint != tools.Clean)
	}
}

// fits says that a text may be a memory.
func fits(f *form.Fields, field, text string) {
	if n := llm.Tokens(text); n > MaxTokens {
		f.Fault(field, "too long (%d tokens, at most %d); say it shorter, or as several", n, MaxTokens)
	}
}
