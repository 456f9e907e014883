package router

import (
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/outbox"
)

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
