package router

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// A brought code came with a command.
type brought struct {
	kind string // see people.BringsCode; ActionApproval: it answers a question
	code string // empty: none
	pair bool   // it is one that a stranger was shown
	does outbox.Does
}

// hideCode takes the codes out of what is kept of a message, as of the message it answers,
// and returns that of a message which is the command that brings one.
func hideCode(m *channels.Message) (b brought) {
	if name, args, ok := command(*m); ok && !m.Elsewhere {
		if kind, brings := people.BringsCode[name]; brings {
			b = brought{kind: kind, code: people.LongCode(args)}
			if pair := commands.BareCode(args); name == "start" && people.PairingShape.MatchString(pair) {
				b.code, b.pair = pair, true
			}
		}
	}
	m.Text, m.Quote = people.WithoutCodes(m.Text), people.WithoutCodes(m.Quote)
	return b
}

// named says whether an entry may make its sender somebody: it comes from whom a platform
// names, in a chat with us alone.
func (l *channel) named(event *channels.Event) bool {
	return event.Kind == channels.EventMessage && l.knows(event)
}

// knows is named, also of a button that is pressed.
func (l *channel) knows(event *channels.Event) bool {
	s := &event.Sender
	return event.Conversation.Kind == channels.Direct && l.config.DM != "disabled" && !s.Bot &&
		s.ID != "" && s.Person == "" && !(s.Guest && s.Team == "")
}

// strangersAnswer is what a stranger answers to the question whether their account is to become
// somebody's, by its code or its button; no code: it is no such answer.
func (l *channel) strangersAnswer(event *channels.Event) (b brought) {
	name, args, typed := command(event.Message)
	switch {
	case !l.knows(event) || event.Message.Elsewhere:
	case event.Kind == channels.EventAction:
		b.code = event.Action.Code
	case event.Kind == channels.EventMessage && typed && (name == "approve" || name == "deny"):
		b.code, _ = commands.CodeIn(args)
		if b.does = outbox.DoesOnce; name == "deny" {
			b.does = outbox.DoesDeny
		}
	}
	b.kind = outbox.ActionApproval
	return b
}

// bring makes the entry of a code; person may be nil. Too many tries are kept like
// anything else that a stranger writes.
func (s *classifier) bring(ctx context.Context, entry classified, line *channel, person *core.Person, b brought) (classified, error) {
	identity := entry.Sender.Identity
	left := people.CodeTries - s.tries.Within(identity, time.Now()) - s.tried[identity]
	if person == nil {
		if left <= 0 {
			entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
			return entry, nil
		}
	} else if text, refused := s.refuseFast(&entry, person, 1); refused {
		return line.noticed(entry, text), nil
	} else if left <= 0 {
		return line.noticed(entry, "You have tried five codes within an hour. Please wait before you try another."), nil
	}
	s.tried[identity]++
	as := &people.CodeIntent{Code: outbox.HashCode(b.code), Kind: b.kind, Does: b.does, Identity: ownIdentity(&entry, line), Name: commands.NameFrom(entry.Event.Sender.Label)}
	entry.Intent = as
	if b.kind == people.ActionLink || b.kind == "" {
		link, err := s.Ledger.LinkOf(ctx, as.Code, entry.Sender.Person)
		if err != nil {
			return entry, err
		} else if link != nil {
			s.Asking.Link(&entry.Event, line.Connection, as, link)
		}
	}
	return entry, nil
}

// ownIdentity is what a sender is to be known by.
func ownIdentity(entry *classified, line *channel) string {
	known := entry.Event.Sender.Identities(line.Name, line.Kind)
	if entry.Event.Sender.Team != "" {
		return known[1] // an ID without its team may be somebody else's on another channel
	}
	return known[len(known)-1]
}

// followCode counts a try, and has everybody know a new admin. A stranger for whom the
// code did nothing is one like any other from here on.
func (r *Router) followCode(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if _, ok := entry.Intent.(*people.CodeIntent); !ok || acc.Duplicate {
		return
	}
	r.tries.Count(entry.Sender.Identity, time.Now())
	log := r.Log.With("channel", entry.Event.Conversation.Channel, "identity", entry.Sender.Identity)
	switch {
	case acc.Admin != "":
		log.InfoContext(ctx, "a claim code made somebody an admin", "person", acc.Admin)
		entry.Sender.Person = acc.Admin
		r.People.Learn(ctx, acc.Admin)
		r.People.Wake()
	case acc.Outcome == "":
		log.WarnContext(ctx, "a stranger sent a code that is not good")
		entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	}
}
