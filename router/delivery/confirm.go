package delivery

import (
	"crypto/rand"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/ledger"
	"switchboard/words"
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
func (l *Line) Confirm(conv channels.Conversation, c Confirm) ledger.Question {
	about := "**" + render.Escape(words.OneLine(c.Identity, ShownName)) + "** on " + render.Escape(c.Channel)
	called := ""
	if label := words.OneLine(visible(c.Label), ShownName); label != "" {
		called = ", who calls themselves “" + render.Escape(label) + "”,"
	}
	reply := l.reply(conv, about+called+" "+c.Wish+"\n\n"+c.Rest)
	reply.Text, reply.Notice = about+" "+c.Wish+"\n\n"+c.Rest, true
	act := func(code string, does ledger.Does, label string) {
		reply.Actions = append(reply.Actions, ledger.Action{
			Code: ledger.HashCode(code), Kind: ledger.ActionApproval, Text: label, Does: does, ExpiresAt: c.Until,
		})
	}
	if c.Code != "" {
		act(c.Code, "", "")
	}
	if l.features(conv).Buttons {
		last := &reply.Parts[len(reply.Parts)-1]
		for _, b := range []struct {
			label string
			does  ledger.Does
		}{{c.Yes, ledger.DoesOnce}, {c.No, ledger.DoesDeny}} {
			press := rand.Text()
			act(press, b.does, b.label)
			last.Buttons = append(last.Buttons, channels.Button{Label: b.label, Code: press})
		}
	}
	return ledger.Question{Conversation: conv, Reply: reply, Code: c.Code}
}
