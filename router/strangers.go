package router

import (
	"context"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

const (
	// A channel, and a stranger, are not looked up again for so long after somebody was asked
	// for, and after nobody was.
	quietAsked = time.Minute
	quietIdle  = 10 * time.Second
)

// stranger makes the entry of somebody who is not served. Where pairing is on, who writes in
// a direct chat may get a code; the transaction knows whether one is due.
func (s *classifier) stranger(ctx context.Context, entry classified, line *channel) classified {
	entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	if line.config.DM != "pairing" || !line.named(&entry.Event) || entry.Event.Message.Elsewhere {
		return entry
	}
	if now := time.Now(); s.quiet.is(line.Name, now) || s.quiet.is(entry.Sender.Identity, now) {
		return entry
	}
	as := &people.PairingIntent{Identity: ownIdentity(&entry, line), Name: commands.NameFrom(entry.Event.Sender.Label)}
	entry.Intent, entry.asked = as, s.Asking.Pairing(&entry.Event, line.Connection, as, s.askedAdmins(ctx))
	return entry
}

// askedAdmins are the chats in which it is asked whether to let a stranger in.
func (s *classifier) askedAdmins(ctx context.Context) []channels.Conversation {
	if s.admitters == nil {
		chats, err := s.Connections.NoticeChats(ctx, outbox.NoticePairing)
		if err != nil { // whoever is told the code can use it all the same
			s.Log.ErrorContext(ctx, "the admins are not asked to let somebody in", "error", err)
		}
		s.admitters = append([]channels.Conversation{}, chats...)
	}
	return s.admitters
}

// quietMost bounds what is remembered, so that a crowd does not fill the memory.
const quietMost = 1000

// quiet remembers for which channels and identities no code is due, so that a flood of
// strangers is not a flood of transactions. The zero value knows of none.
type quiet struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (q *quiet) is(key string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return now.Before(q.until[key])
}

func (q *quiet) keep(key string, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil || len(q.until) >= quietMost {
		q.until = map[string]time.Time{}
	}
	q.until[key] = until
}

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
		link, err := s.Store.LinkOf(ctx, as.Code, entry.Sender.Person)
		if err != nil {
			return entry, err
		} else if link != nil {
			s.Asking.Link(&entry.Event, line.Connection, as, link)
		}
	}
	return entry, nil
}
