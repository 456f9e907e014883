package router

import (
	"context"
	"fmt"
	"sync"
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/commands"
	"switchboard/router/ledger"
)

const (
	// pairingLive is how long a stranger's wish to be let in waits.
	pairingLive = time.Hour
	// A channel, and a stranger, are not looked up again for so long after somebody was asked
	// for, and after nobody was.
	quietAsked = time.Minute
	quietIdle  = 10 * time.Second
)

// stranger makes the entry of somebody who is not served. Where pairing is on, who writes in
// a direct chat may get a code; the transaction knows whether one is due.
func (s *classifier) stranger(ctx context.Context, entry classified, line *channel) classified {
	entry.Intent = &ledger.AuditIntent{Why: ledger.AuditStranger}
	if line.config.DM != "pairing" || !line.named(&entry.Event) || entry.Event.Message.Elsewhere {
		return entry
	}
	if now := time.Now(); s.quiet.is(line.Name, now) || s.quiet.is(entry.Sender.Identity, now) {
		return entry
	}
	as := &ledger.PairingIntent{Identity: ownIdentity(&entry, line), Name: commands.NameFrom(entry.Event.Sender.Label)}
	entry.Intent, entry.asked = as, s.askPairing(ctx, &entry, as)
	return entry
}

// askPairing renders what a stranger reads, and what the admins are asked. Nothing of the
// stranger's words is kept where a prompt would take it from.
func (s *classifier) askPairing(ctx context.Context, e *classified, as *ledger.PairingIntent) *ledger.Reply {
	code, conv, line := outbox.NewCode(), e.Event.Conversation, e.line
	as.Request = &ledger.Request{
		Code: ledger.HashCode(code), ExpiresAt: time.Now().Add(pairingLive),
		Accepted: *line.Notice(e.Event, "Hello. "+fmt.Sprintf(greeting, ledger.RoleUser)),
	}
	if s.admitters == nil {
		chats, err := s.Lines.NoticeChats(ctx, ledger.NoticePairing)
		if err != nil { // whoever is told the code can use it all the same
			s.Log.ErrorContext(ctx, "the admins are not asked to let somebody in", "error", err)
		}
		s.admitters = append([]channels.Conversation{}, chats...)
	}
	for _, chat := range s.admitters {
		to := s.Lines.Connection(chat.Channel)
		command := to.Command(chat)
		as.Request.Questions = append(as.Request.Questions, to.Confirm(chat, outbox.Confirm{
			Identity: as.Identity, Channel: conv.Channel, Label: e.Event.Sender.Label,
			Asks: "asks to talk with me. They would be a user, not an admin, with the tools of that channel.",
			Rest: fmt.Sprintf("They were shown the code `%s`. If in doubt, ask them for it. "+outbox.Waiting+"an hour. To answer by typing: `%sapprove %s` or `%sdeny %s`.",
				code, command, code, command, code),
			Yes: "Allow", No: "Refuse", Until: as.Request.ExpiresAt,
		}))
	}
	const hello = "Hello. I only talk with people whom an admin has allowed. Tell them this code: %s. It is good for an hour. Once they allow you, I'll write to you here."
	reply := line.Notice(e.Event, fmt.Sprintf(hello, "`"+code+"`"))
	reply.Text = fmt.Sprintf(hello, redacted)
	return reply
}

// followRequest does what the commit of a stranger's wish, or of its end, made possible.
func (r *Router) followRequest(ctx context.Context, entry *classified, acc *ledger.Accepted) {
	if acc.Duplicate {
		return
	}
	if as, ok := entry.Intent.(*ledger.PairingIntent); ok {
		r.followPairing(ctx, entry, as, acc)
	}
	if acc.Outcome == ledger.LinkAsked {
		retry.Signal(r.turns.Due())
	}
	if acc.People {
		r.Log.InfoContext(ctx, "somebody was let in, or two accounts became one person", "channel", entry.Event.Conversation.Channel)
		r.PeopleChanged(ctx)
	}
	if acc.Elsewhere.ID != "" {
		r.Lines.Committed(acc.Elsewhere)
	}
}

func (r *Router) followPairing(ctx context.Context, entry *classified, as *ledger.PairingIntent, acc *ledger.Accepted) {
	channel, quiet := entry.Event.Conversation.Channel, quietIdle
	if acc.Outcome == ledger.PairingAsked {
		quiet = quietAsked
		r.Log.InfoContext(ctx, "a stranger asks to be let in", "channel", channel, "identity", entry.Sender.Identity, "admins_asked", len(as.Request.Questions))
		for _, q := range as.Request.Questions {
			r.Lines.Committed(q.Conversation)
		}
		retry.Signal(r.turns.Due())
	} else {
		entry.Intent = &ledger.AuditIntent{Why: ledger.AuditStranger}
	}
	until := time.Now().Add(quiet)
	r.quiet.keep(entry.Sender.Identity, until)
	if acc.Outcome == ledger.PairingAsked || acc.Full {
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
