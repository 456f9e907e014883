package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

// buttonPatience is how long taking buttons off, or an edit of a question, may wait for
// budget to spare and for a platform that limits it, and take.
const buttonPatience = time.Minute

// answered does what Decided or Unbutton does to a part whose question was answered before
// it was known under which ID the part is shown.
func (l *Connection) answered(ctx context.Context, d *Delivery, id channels.MessageID) {
	over, approval, err := l.lines.Ledger.Answered(ctx, d.MessageID)
	switch {
	case err != nil:
		l.lines.Log.DebugContext(ctx, "buttons stay", "channel", l.Name, "conversation_id", d.Conversation.ID, "error", err)
	case approval != 0 && over:
		l.lines.Decided(ctx, approval)
	case over:
		l.Unbutton(d.Conversation, id)
	}
}

// Decided has the questions of an approval that is not open any more say what was decided,
// and takes their buttons off, on the channels that this engine holds; best effort and in
// the background.
func (l *Connections) Decided(ctx context.Context, approval int64) {
	list, err := l.Ledger.Questions(ctx, approval)
	if err != nil {
		l.Log.DebugContext(ctx, "questions stay", "approval_id", approval, "error", err)
	}
	for _, q := range list {
		if line := l.Connection(q.Conversation.Channel); line != nil && line.Holds() {
			line.settleQuestion(&q)
		}
	}
}

// settleQuestion shows a decided question anew where the platform can edit it, and takes
// only its buttons off where it cannot.
func (l *Connection) settleQuestion(q *Decided) {
	editor, ok := l.channel().(channels.Editor)
	if !ok {
		l.Unbutton(q.Conversation, q.Message)
		return
	}
	l.aside(q.Conversation, func(ctx context.Context) error {
		err := editor.Edit(ctx, q.Conversation, q.Message, l.decidedPart(q))
		if err != nil && !isLimited(err) {
			l.lines.Log.DebugContext(ctx, "a question stays as it was asked", "channel", l.Name, "conversation_id", q.Conversation.ID, "error", err)
			l.Unbutton(q.Conversation, q.Message)
		}
		return err
	})
}

// Unask takes the buttons off a message of ours that was decided; best effort and in the background.
// It looks after the commit of the decision, as answered looks after that of the message: of two at
// once, one sees the other.
func (l *Connection) Unask(ctx context.Context, conv channels.Conversation, message int64) {
	id, err := l.lines.Ledger.Useless(ctx, message)
	if err != nil {
		l.lines.Log.DebugContext(ctx, "buttons stay", "channel", l.Name, "conversation_id", conv.ID, "error", err)
	}
	l.Unbutton(conv, id)
}

// Unbutton takes the buttons off a message of ours, best effort and in the
// background: the platform waits for an answer to the press.
func (l *Connection) Unbutton(conv channels.Conversation, id channels.MessageID) {
	unbuttoner, ok := l.channel().(channels.Unbuttoner)
	if !ok || id == "" {
		return
	}
	l.aside(conv, func(ctx context.Context) error {
		err := unbuttoner.RemoveButtons(ctx, conv, id)
		if err != nil && !isLimited(err) {
			l.lines.Log.DebugContext(ctx, "buttons stay", "channel", l.Name, "conversation_id", conv.ID, "error", err)
		}
		return err
	})
}

func isLimited(err error) bool {
	_, limited := errors.AsType[*channels.RateLimitError](err)
	return limited
}

// aside makes a call in the background as soon as the platform's budget has room for it, and
// again for as long as the platform limits it.
func (l *Connection) aside(conv channels.Conversation, call func(context.Context) error) {
	l.lines.asides.Go(func() {
		ctx, cancel := context.WithTimeout(l.lines.work, buttonPatience)
		defer cancel()
		for {
			pause := time.Second
			if l.limits.spareOf(l.channel().Features(conv).Rates, time.Now()) {
				limited, ok := errors.AsType[*channels.RateLimitError](call(ctx))
				if !ok {
					return
				}
				pause = max(pause, limited.RetryAfter)
			}
			if !retry.Sleep(ctx, pause) {
				return
			}
		}
	})
}

// Offers is how many of these buttons a conversation shows under a message.
func (l *Connection) Offers(conv channels.Conversation, list []core.Button) int {
	features := l.features(conv)
	switch {
	case !features.Buttons:
		return 0
	case features.MaxButtons == 0:
		return len(list)
	}
	return min(len(list), features.MaxButtons)
}

// Offer adds buttons to a reply, which give commands as person, and that person alone: so many are shown, and of others
// those that are a choice have the numbers of commands.TypedOut.
func (l *Connection) Offer(reply *Reply, person string, list []core.Button, shown int) {
	until := time.Now().Add(choiceDeadline)
	last := &reply.Parts[len(reply.Parts)-1]
	for i, b := range list {
		code := rand.Text()
		action := Action{
			Code: HashCode(code), Kind: ActionCommand, Person: person, Text: b.Command, Either: b.Either, ExpiresAt: until,
		}
		switch {
		case b.Asks:
			action.Number, action.Text = NextWords, b.Command+" "
		case i >= shown && b.Either:
			action.Number = i - shown + 1
		case i >= shown:
			continue
		}
		reply.Actions = append(reply.Actions, action)
		if action.Number != 0 {
			continue
		}
		last.Buttons = append(last.Buttons, channels.Button{Label: l.lines.Mask.Text(b.Label), Code: code, Beside: b.Beside})
	}
}
