package router

import (
	"context"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// followApprovals does what the commit of an entry that decides made possible.
func (r *Router) followApprovals(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if acc.Approval != 0 && acc.Action != "" && !acc.Duplicate {
		r.approvals.Decided(ctx, acc.Approval)
	}
	for _, turn := range acc.Dropped {
		r.approvals.Close(ctx, turn)
	}
	if acc.Decided != 0 {
		r.Log.InfoContext(ctx, "an approval was decided", "approval_id", acc.Approval, "turn_id", acc.Decided, "person", entry.Sender.Person, "state", acc.Action)
		r.turns.Queued()
	}
}

// consent is what a message decides that is nothing but a yes or no in the person's own words, in a chat
// with one person; empty: it is none.
func consent(e *channels.Event) outbox.Does {
	m := &e.Message
	if e.Conversation.Kind != channels.Direct || !ownText(*m) || m.Quote != "" && m.ReplyTo == "" { // of another chat
		return ""
	}
	switch yes, plain := words.Consent(m.Text); {
	case !plain:
		return ""
	case yes:
		return outbox.DoesOnce
	}
	return outbox.DoesDeny
}
