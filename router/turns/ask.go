package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// mostAsked is how many questions of one person may be open that others are to decide.
const mostAsked = 5

// Approval implements agent.Journal.
func (j *journal) Approval(ctx context.Context, ask agent.Ask) (got agent.Approval, err error) {
	err = j.retry(ctx, "an approval could not be read", func(ctx context.Context) (err error) {
		if got, err = j.runner.Store.Approval(ctx, j.ref, j.data.Turn.Person.Name, ask); err != nil || got.ID != 0 {
			return err
		}
		asked, err := j.deciders(ctx, ask.Rule)
		if err == nil && len(asked) == 0 {
			got.State = agent.Nobody
		}
		return err
	})
	return got, err
}

// deciders are the conversations in which to ask what a rule asks: the turn's own, where its
// person may decide, else the chat of each admin that they used last.
func (j *journal) deciders(ctx context.Context, rule string) ([]channels.Conversation, error) {
	if p := j.runner.People.Named(j.data.Turn.Person.Name); p != nil && (p.Role == core.RoleAdmin || rule == tools.RuleKeeps) {
		return []channels.Conversation{j.data.Conversation}, nil
	}
	chats, err := j.runner.Connections.AdminChats(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the admins' chats: %w", err)
	}
	return chats, nil
}

// ask renders what a step asks for, and commits it with the end of the work for now.
func (j *journal) ask(ctx context.Context, step agent.Step) (next *claimed, err error) {
	q, within := step.Ask, j.runner.Settings().ApprovalDeadline
	request := approvals.Request{Ask: *q, Within: within}
	var chats []channels.Conversation
	if err := j.retry(ctx, "the admins' chats could not be read", func(ctx context.Context) (err error) {
		chats, err = j.deciders(ctx, q.Rule)
		return err
	}); err != nil {
		return nil, err
	}
	here := func(c channels.Conversation) bool { return core.SessionKey(c) == core.SessionKey(j.data.Conversation) }
	own := len(chats) == 1 && here(chats[0])
	asked := approvals.Asked{ExpiresAt: time.Now().Add(within)}
	if !own {
		request.Person, asked.MostOpen = j.asker(), mostAsked
	}
	for _, chat := range chats {
		asked.Questions = append(asked.Questions, approvals.Question(ctx, j.runner.Connections.Connection(chat.Channel).Composer, chat, request))
	}
	if !own {
		asked.Questions = append(asked.Questions, approvals.Asking(j.line.Composer, j.data.Conversation, request))
	}
	for i := range asked.Questions {
		if q := &asked.Questions[i]; here(q.Conversation) {
			q.Reply.Person, q.Reply.ReplyTo = j.data.Turn.Person.Name, outbox.Answers(j.data)
		}
	}
	next, err = j.put(ctx, "a question could not be committed", func(ctx context.Context) (*core.Claimed, error) {
		return j.runner.Store.Ask(ctx, j.ref, step, asked)
	})
	if err == nil || j.unknown {
		for _, q := range asked.Questions {
			j.runner.Connections.Committed(q.Conversation)
		}
		retry.Signal(j.runner.due)
	}
	if errors.Is(err, core.ErrTooManyAsked) {
		err = agent.ErrTooManyAsked
	}
	return next, err
}

// asker is who asks, for who decides: of somebody whom an open channel let in also what they call themselves.
func (j *journal) asker() string {
	name, label := j.data.Turn.Person.Name, words.OneLine(words.Visible(j.data.Conversation.Title), 30)
	if p := j.runner.People.Named(name); p == nil || p.Source != core.FromOpen || label == "" || j.data.Conversation.Kind != channels.Direct {
		return name
	}
	return label + " (" + name + ")"
}
