package router

import (
	"context"
	"fmt"

	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// retryTakes answers a /retry with something behind it.
const retryTakes = "I did nothing: write /retry with nothing after it. It tries your latest message again; as a reply to another message it tries that one. For anything else just write to me."

// retry is /retry: a turn that takes its place in the queue.
func (r *Router) retry(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args != "" {
		return commands.Says("%s", retryTakes), nil
	}
	turn := r.turn(*c.Event)
	turn.Retry = &intake.Retry{Of: c.Event.Message.ReplyTo}
	return commands.Answer{Intent: &turn}, nil
}

// resend is /resend: what ended unknown here goes out again, in its old place.
func (r *Router) resend(_ context.Context, c *commands.Call) (commands.Answer, error) {
	change := &outbox.Resend{Conversation: c.Conversation()}
	return commands.Answer{Change: change, Say: func() commands.Answer {
		unless := "."
		if change.Looked {
			unless = ", unless I find it here."
		}
		days, dropped := int(outbox.ResendWithin.Hours()/24), ""
		if change.Dropped > 0 {
			dropped = fmt.Sprintf(" Parts of %s from the last %d days could not be sent, and I do not send those again. Ask me again for what you still need.",
				words.Count(change.Dropped, "message"), days)
		}
		switch {
		case change.Messages == 0 && dropped != "":
			return commands.Says("There is nothing to send again.%s", dropped)
		case change.Messages == 0:
			return commands.Says("There is nothing to send again: all that I said here in the last %d days arrived, or is on its way.", days)
		case change.Messages == 1:
			return commands.Says("I'll send one answer again%s%s", unless, dropped)
		}
		return commands.Says("I'll send %d answers again%s%s", change.Messages, unless, dropped)
	}}, nil
}
