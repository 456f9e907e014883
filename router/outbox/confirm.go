package outbox

import (
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
)

// A Confirm is a question about an account that is answered by yes or no.
type Confirm struct {
	Identity, Channel string // whose it is
	Label             string // what they call themselves, which is outside text
	Wish, Rest        string // what they want, and what else there is to say
	Yes, No           string // what the buttons say
	Code              string // decides as well, typed where it is asked; empty: none does
	Until             time.Time
}

// Confirm renders a question with its two buttons. What somebody calls themselves is shown,
// and not kept where a prompt would take it from.
func (l *Connection) Confirm(conv channels.Conversation, c Confirm) Question {
	about := "**" + render.Escape(words.OneLine(c.Identity, ShownName)) + "** on " + render.Escape(c.Channel)
	called := ""
	if label := words.OneLine(visible(c.Label), ShownName); label != "" {
		called = ", who calls themselves “" + render.Escape(label) + "”,"
	}
	reply := l.reply(conv, about+called+" "+c.Wish+"\n\n"+c.Rest)
	reply.Text, reply.Notice = about+" "+c.Wish+"\n\n"+c.Rest, true
	l.decidedBy(conv, &reply, c.Code, c.Until, decision{c.Yes, DoesOnce}, decision{c.No, DoesDeny})
	return Question{Conversation: conv, Reply: reply, Code: c.Code}
}
