package storetest

import (
	"crypto/rand"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/ledger"
)

// Control is e as a command with an effect, answered by reply.
func Control(e ledger.Entry, effect ledger.Effect, reply string) ledger.Entry {
	as := &ledger.ControlIntent{Effect: effect}
	if e.Intent = as; effect == ledger.EffectCancel {
		e.Say = Says(map[ledger.Outcome]*ledger.Reply{ledger.OutcomeIdle: Text(reply), ledger.OutcomeDropped: Text("dropped")})
	} else {
		as.Reply = Text(reply)
	}
	return e
}

// Limited is e where so many turns may wait.
func Limited(e ledger.Entry, turns int) ledger.Entry {
	e.Turn().QueueLimit = turns
	e.Say = Says(map[ledger.Outcome]*ledger.Reply{ledger.OutcomeBusy: Text("full")})
	return e
}

// Says are the replies of an entry, by what became of it.
func Says(replies map[ledger.Outcome]*ledger.Reply) func(*ledger.Accepted) *ledger.Reply {
	return func(a *ledger.Accepted) *ledger.Reply { return replies[a.Outcome] }
}

// Text is a notice of one part.
func Text(s string) *ledger.Reply {
	return &ledger.Reply{Text: s, Parts: []channels.Body{{Text: s}}, Notice: true}
}

// Moves is the news that the conversation from is now to.
func Moves(from, to, key string) ledger.Entry {
	e := Entry(to, "moved"+key, "")
	e.Intent, e.Event.Kind, e.Event.Former, e.Event.Message = &ledger.NewsIntent{}, channels.EventMoved, channels.ConversationID(from), channels.Message{}
	e.Event.Conversation.Kind = channels.Group
	return e
}

// ConversationC is conversation c of channel "tg".
var ConversationC = channels.Conversation{Channel: "tg", ID: "c"}

// Submission is what marco's job run 1 asks.
func Submission(key string) ledger.Submission {
	return ledger.Submission{
		Key: key, Origin: "job", Person: "marco", Rule: ledger.RuleJob, To: ConversationC, Text: "/tool look {}", Run: 1, Try: 1,
		Terms: agent.Terms{NoApprovals: true, NoQuestions: true, Budget: 0.5},
	}
}

// Mode is e with a busy mode.
func Mode(e ledger.Entry, mode string) ledger.Entry {
	e.Turn().Mode = mode
	return e
}

// By is e of another person.
func By(e ledger.Entry, person string) ledger.Entry {
	e.Sender.Person, e.Sender.Identity = person, "tg:"+person
	return e
}

// Edited is an edit of the message that Entry(conv, of, …) stands for.
func Edited(conv, of, key, text, onEdit string) ledger.Entry {
	e := Entry(conv, key, text)
	e.Intent, e.Event.Kind = &ledger.EditIntent{OnEdit: onEdit, Turn: *e.Turn()}, channels.EventEdited
	e.Say = Says(map[ledger.Outcome]*ledger.Reply{ledger.EditTooLate: nil, ledger.EditAsked: nil})
	e.Event.Message.ID = channels.MessageID("m" + of)
	return e
}

// WithFile is e with an attachment.
func WithFile(e ledger.Entry, id string, size int64) ledger.Entry {
	e.Event.Message.Attachments = []channels.Attachment{{ID: id, Kind: channels.Photo, Name: "p.png", Type: "image/png", Size: size}}
	return e
}

// RetryEntry is /retry; of is the message replied to.
func RetryEntry(conv, key, of string) ledger.Entry {
	e := Entry(conv, key, "/retry")
	e.Turn().Retry, e.Say = &ledger.Retry{Of: channels.MessageID(of)}, Says(EveryOutcome())
	return e
}

// EveryOutcome answers each outcome by its name.
func EveryOutcome() map[ledger.Outcome]*ledger.Reply {
	replies := map[ledger.Outcome]*ledger.Reply{}
	for _, s := range []ledger.Outcome{
		ledger.OutcomeBusy, ledger.RetryNone, ledger.RetryUnclear, ledger.RetryOpen, ledger.RetryNotYours, ledger.RetryForgotten,
		ledger.ChoiceLeft, ledger.EditTooLate, ledger.EditAsked,
	} {
		replies[s] = Text(string(s))
	}
	return replies
}

// Asked is the question of a turn, in the conversation conv, that its code decides.
func Asked(turn int64, conv string) ledger.Asked {
	reply := Text("May I?")
	reply.Actions = []ledger.Action{{Code: CodeOf(turn), Kind: ledger.ActionApproval}}
	return ledger.Asked{ExpiresAt: time.Now().Add(24 * time.Hour), Questions: []ledger.Question{{
		Conversation: Entry(conv, "", "").Event.Conversation, Reply: *reply, Code: fmt.Sprint("code ", turn),
	}}}
}

// CodeOf is the hash of the code of a turn's question.
func CodeOf(turn int64) []byte { return ledger.HashCode(fmt.Sprint("code ", turn)) }

// Decides is what an admin types in the conversation of the question.
func Decides(turn int64, conv string, does ledger.Does) ledger.Entry {
	e := Entry(conv, fmt.Sprint("decides ", turn, rand.Text()), "/approve")
	e.Sender.Person, e.Intent = "root", &ledger.DecisionIntent{Code: CodeOf(turn), Does: does}
	return e
}

// Stranger is an entry of somebody who is not served.
func Stranger(conv, key string) ledger.Entry {
	e := Entry(conv, key, "let me in")
	e.Intent, e.Sender.Person = &ledger.AuditIntent{Why: ledger.AuditStranger}, ""
	return e
}

// Question is a reply that asks marco, with a button for each choice.
func Question(name string, expires time.Time, choices ...string) ledger.Reply {
	r := ledger.Reply{Text: name + "?"}
	body := channels.Body{Text: r.Text}
	for i, c := range choices {
		code := fmt.Sprint(name, i+1)
		body.Buttons = append(body.Buttons, channels.Button{Label: c, Code: code})
		r.Actions = append(r.Actions, ledger.Action{
			Code: ledger.HashCode(code), Kind: ledger.ActionChoice, Person: "marco", Text: c, Number: i + 1, ExpiresAt: expires,
		})
	}
	r.Parts = []channels.Body{body}
	return r
}
