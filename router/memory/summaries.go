package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// A Summary is what is kept of a session, besides its messages.
type Summary struct {
	ID      int64        `json:"-"` // the session's
	Session string       `json:"session"`
	Scope   memory.Scope `json:"scope"`  // where it is found
	Person  string       `json:"person"` // whose session it is; empty: nobody's we know, or a group's
	Text    string       `json:"text"`
	Taint   tools.Taint  `json:"taint,omitempty"`
	UsedAt  time.Time    `json:"used_at"` // when the session was used last
}

// summariesWord is what people write for summaries.
const summariesWord = "summaries"

// summaries lists those of the chats of a person, or of a group where it is given there.
func (s *Service) summaries(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	list, err := s.Store.Summaries(ctx, Filter{Scopes: []memory.Scope{w.Place.Own()}, Limit: commands.Rows + 1})
	if err != nil {
		return commands.Answer{}, err
	}
	list, more := commands.Shown(list)
	if len(list) == 0 {
		return commands.Says("I keep no summary here: I write one when a chat is long."), nil
	}
	var answer commands.Answer
	for _, one := range list {
		where := core.ChatWords(core.OfSession(one.Session), c.Conversation())
		answer.Text += fmt.Sprintf("- %s (%s, %s)\n", words.Escape(words.OneLine(one.Text, 600)), words.Escape(where), one.UsedAt.In(c.Zone()).Format("2 Jan 2006"))
		answer.Taint = answer.Taint.Join(one.Taint.JoinIf(!c.Direct(), tools.Others))
	}
	if answer.Text = strings.TrimSpace(answer.Text); more {
		answer.Text += "\nThere are more; `switchboard memory export` writes them all."
	}
	if c.MayDecide() {
		answer.Buttons = []commands.Button{{Label: "Forget them all", Command: "memory forget " + summariesWord}}
	}
	return answer, nil
}

// ForgetSummaries is the change that forgets the summaries found where somebody writes.
func (w *Writer) ForgetSummaries() *Change {
	return &Change{Kind: ForgetSummaries, Of: []memory.Scope{w.Place.Own()}, judged: true}
}

// forgetSummaries has those forgotten that summaries lists, and those of private chats.
func (s *Service) forgetSummaries(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if !c.MayDecide() {
		return commands.Says("They are of what others said here too, so only an admin can have them forgotten here."), nil
	}
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	change := w.ForgetSummaries()
	return commands.Answer{Change: change, Say: func() commands.Answer {
		return commands.Says("Summaries that I forgot: %d. The messages are still there; `%sreset` begins a new chat.", len(change.Dropped), c.Slash)
	}}, nil
}
