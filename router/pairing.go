package router

import (
	"context"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/commands"
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
		chats, err := s.Lines.NoticeChats(ctx, outbox.NoticePairing)
		if err != nil { // whoever is told the code can use it all the same
			s.Log.ErrorContext(ctx, "the admins are not asked to let somebody in", "error", err)
		}
		s.admitters = append([]channels.Conversation{}, chats...)
	}
	return s.admitters
}

// followRequest does what the commit of a stranger's wish, or of its end, made possible.
func (r *Router) followRequest(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if acc.Duplicate {
		return
	}
	if as, ok := entry.Intent.(*people.PairingIntent); ok {
		r.followPairing(ctx, entry, as, acc)
	}
	if acc.Outcome == people.LinkAsked {
		retry.Signal(r.turns.Due())
	}
	if acc.People {
		r.Log.InfoContext(ctx, "somebody was let in, or two accounts became one person", "channel", entry.Event.Conversation.Channel)
		r.People.Changed(ctx)
	}
	if acc.Elsewhere.ID != "" {
		r.Lines.Committed(acc.Elsewhere)
	}
}

func (r *Router) followPairing(ctx context.Context, entry *classified, as *people.PairingIntent, acc *intake.Accepted) {
	channel, quiet := entry.Event.Conversation.Channel, quietIdle
	if acc.Outcome == people.PairingAsked {
		quiet = quietAsked
		r.Log.InfoContext(ctx, "a stranger asks to be let in", "channel", channel, "identity", entry.Sender.Identity, "admins_asked", len(as.Request.Questions))
		for _, q := range as.Request.Questions {
			r.Lines.Committed(q.Conversation)
		}
		retry.Signal(r.turns.Due())
	} else {
		entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	}
	until := time.Now().Add(quiet)
	r.quiet.keep(entry.Sender.Identity, until)
	if acc.Outcome == people.PairingAsked || acc.Full {
		r.quiet.keep(channel, until)
	}
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
