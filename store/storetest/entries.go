package storetest

import (
	"crypto/rand"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/audit"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
)

// Control is e as a command with an effect, answered by reply.
func Control(e intake.Entry, effect intake.Effect, reply string) intake.Entry {
	as := &intake.ControlIntent{Effect: effect}
	if e.Intent = as; effect == intake.EffectCancel {
		e.Say = Says(map[intake.Outcome]*outbox.Reply{intake.OutcomeIdle: Text(reply), intake.OutcomeDropped: Text("dropped")})
	} else {
		as.Reply = Text(reply)
	}
	return e
}

// Limited is e where so many turns may wait.
func Limited(e intake.Entry, turns int) intake.Entry {
	e.Turn().QueueLimit = turns
	e.Say = Says(map[intake.Outcome]*outbox.Reply{intake.OutcomeBusy: Text("full")})
	return e
}

// Says are the replies of an entry, by what became of it.
func Says(replies map[intake.Outcome]*outbox.Reply) func(*intake.Accepted) *outbox.Reply {
	return func(a *intake.Accepted) *outbox.Reply { return replies[a.Outcome] }
}

// Text is a notice of one part.
func Text(s string) *outbox.Reply {
	return &outbox.Reply{Text: s, Parts: []channels.Body{{Text: s}}, Notice: true}
}

// Moves is the news that the conversation from is now to.
func Moves(from, to, key string) intake.Entry {
	e := Entry(to, "moved"+key, "")
	e.Intent, e.Event.Kind, e.Event.Former, e.Event.Message = &intake.NewsIntent{}, channels.EventMoved, channels.ConversationID(from), channels.Message{}
	e.Event.Conversation.Kind = channels.Group
	return e
}

// ConversationC is conversation c of channel "tg".
var ConversationC = channels.Conversation{Channel: "tg", ID: "c"}

// Submission is what marco's job run 1 asks.
func Submission(key string) jobs.Submission {
	return jobs.Submission{
		Key: key, Origin: "job", Person: "marco", Rule: audit.RuleJob, To: ConversationC, Text: "/tool look {}", Run: 1, Try: 1,
		Terms: agent.Limits{NoApprovals: true, NoQuestions: true, Budget: 0.5},
	}
}

// Mode is e with a busy mode.
func Mode(e intake.Entry, mode string) intake.Entry {
	e.Turn().Mode = mode
	return e
}

// By is e of another person.
func By(e intake.Entry, person string) intake.Entry {
	e.Sender.Person, e.Sender.Identity = person, "tg:"+person
	return e
}

// Edited is an edit of the message that Entry(conv, of, …) stands for.
func Edited(conv, of, key, text, onEdit string) intake.Entry {
	e := Entry(conv, key, text)
	e.Intent, e.Event.Kind = &intake.EditIntent{OnEdit: onEdit, Turn: *e.Turn()}, channels.EventEdited
	e.Say = Says(map[intake.Outcome]*outbox.Reply{intake.EditTooLate: nil, intake.EditAsked: nil})
	e.Event.Message.ID = channels.MessageID("m" + of)
	return e
}

// WithFile is e with an attachment.
func WithFile(e intake.Entry, id string, size int64) intake.Entry {
	e.Event.Message.Attachments = []channels.Attachment{{ID: id, Kind: channels.Photo, Name: "p.png", Type: "image/png", Size: size}}
	return e
}

// RetryEntry is /retry; of is the message replied to.
func RetryEntry(conv, key, of string) intake.Entry {
	e := Entry(conv, key, "/retry")
	e.Turn().Retry, e.Say = &intake.Retry{Of: channels.MessageID(of)}, Says(EveryOutcome())
	return e
}

// EveryOutcome answers each outcome by its name.
func EveryOutcome() map[intake.Outcome]*outbox.Reply {
	replies := map[intake.Outcome]*outbox.Reply{}
	for _, s := range []intake.Outcome{
		intake.OutcomeBusy, intake.RetryNone, intake.RetryUnknown, intake.RetryOpen, intake.RetryNotYours, intake.RetryForgotten,
		intake.ChoiceLeft, intake.EditTooLate, intake.EditAsked,
	} {
		replies[s] = Text(string(s))
	}
	return replies
}

// Asked is the question of a turn, in the conversation conv, that its code decides.
func Asked(turn int64, conv string) approvals.Asked {
	reply := Text("May I?")
	reply.Actions = []outbox.Action{{Code: CodeOf(turn), Kind: outbox.ActionApproval}}
	return approvals.Asked{ExpiresAt: time.Now().Add(24 * time.Hour), Questions: []outbox.Question{{
		Conversation: Entry(conv, "", "").Event.Conversation, Reply: *reply, Code: fmt.Sprint("code ", turn),
	}}}
}

// CodeOf is the hash of the code of a turn's question.
func CodeOf(turn int64) []byte { return outbox.HashCode(fmt.Sprint("code ", turn)) }

// Decides is what an admin types in the conversation of the question.
func Decides(turn int64, conv string, does outbox.Does) intake.Entry {
	e := Entry(conv, fmt.Sprint("decides ", turn, rand.Text()), "/approve")
	e.Sender.Person, e.Intent = "root", &approvals.DecisionIntent{Code: CodeOf(turn), Does: does}
	return e
}

// Stranger is an entry of somebody who is not served.
func Stranger(conv, key string) intake.Entry {
	e := Entry(conv, key, "let me in")
	e.Intent, e.Sender.Person = &intake.AuditIntent{Why: intake.AuditStranger}, ""
	return e
}

// Question is a reply that asks marco, with a button for each choice.
func Question(name string, expires time.Time, choices ...string) outbox.Reply {
	r := outbox.Reply{Text: name + "?"}
	body := channels.Body{Text: r.Text}
	for i, c := range choices {
		code := fmt.Sprint(name, i+1)
		body.Buttons = append(body.Buttons, channels.Button{Label: c, Code: code})
		r.Actions = append(r.Actions, outbox.Action{
			Code: outbox.HashCode(code), Kind: outbox.ActionChoice, Person: "marco", Text: c, Number: i + 1, ExpiresAt: expires,
		})
	}
	r.Parts = []channels.Body{body}
	return r
}
