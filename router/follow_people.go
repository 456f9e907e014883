package router

import (
	"context"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/people"
)

// followCode counts a try, and has everybody know a new admin. A stranger for whom the
// code did nothing is one like any other from here on.
func (r *committed) followCode(ctx context.Context) {
	if _, ok := r.entry.Intent.(*people.CodeIntent); !ok || r.acc.Duplicate {
		return
	}
	r.tries.Count(r.entry.Sender.Identity, time.Now())
	log := r.Log.With("channel", r.entry.Event.Conversation.Channel, "identity", r.entry.Sender.Identity)
	switch {
	case r.acc.Admin != "":
		log.InfoContext(ctx, "a claim code made somebody an admin", "person", r.acc.Admin)
		r.entry.Sender.Person = r.acc.Admin
		r.People.Learn(ctx, r.acc.Admin)
		r.People.Wake()
	case r.acc.Outcome == "":
		log.WarnContext(ctx, "a stranger sent a code that is not good")
		r.entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	}
}

// followRequest does what the commit of a stranger's wish, or of its end, made possible.
func (r *committed) followRequest(ctx context.Context) {
	if r.acc.Duplicate {
		return
	}
	if as, ok := r.entry.Intent.(*people.PairingIntent); ok {
		r.followPairing(ctx, as)
	}
	if r.acc.Outcome == people.LinkAsked {
		retry.Signal(r.turns.Due())
	}
	if r.acc.People {
		r.Log.InfoContext(ctx, "somebody was let in, or two accounts became one person", "channel", r.entry.Event.Conversation.Channel)
		r.People.Changed(ctx)
	}
	if r.acc.Elsewhere.ID != "" {
		r.Connections.Committed(r.acc.Elsewhere)
	}
}

func (r *committed) followPairing(ctx context.Context, as *people.PairingIntent) {
	channel, quiet := r.entry.Event.Conversation.Channel, quietIdle
	if r.acc.Outcome == people.PairingAsked {
		quiet = quietAsked
		r.Log.InfoContext(ctx, "a stranger asks to be let in", "channel", channel, "identity", r.entry.Sender.Identity, "admins_asked", len(as.Request.Questions))
		for _, q := range as.Request.Questions {
			r.Connections.Committed(q.Conversation)
		}
		retry.Signal(r.turns.Due())
	} else {
		r.entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	}
	until := time.Now().Add(quiet)
	r.quiet.keep(r.entry.Sender.Identity, until)
	if r.acc.Outcome == people.PairingAsked || r.acc.Full {
		r.quiet.keep(channel, until)
	}
}

// logStranger logs, once each, who wrote to the bot and was not let
// in, and by which words the settings would let them in. They get no answer.
func (r *committed) logStranger(ctx context.Context) {
	event, identity := &r.entry.Event, r.entry.Sender.Identity
	conv, l := event.Conversation, r.entry.line
	meant := conv.Kind == channels.Direct || event.Message.Mentioned
	if event.Kind != channels.EventMessage || event.Sender.Bot || event.Sender.ID == "" || !meant {
		return
	}
	if !r.strangers.first(conv.Channel + "\x00" + identity + "\x00" + conv.Place) {
		return
	}
	identities := event.Sender.Identities(l.Name, l.Kind)
	person, away := r.Roster.Identified(identities...), r.Roster.AwayAs(identities...)
	log := r.Log.With("channel", conv.Channel, "identity", identity, "conversation", conv.Place, "kind", string(conv.Kind))
	if conv.Kind != channels.Direct && l.config.Groups == "allowlist" && !l.allows(&r.moves, conv) {
		log = log.With("add_to_channel", "allow_conversations = ['"+conv.Place+"']")
	}
	if person == nil && away != "" {
		log.InfoContext(ctx, "somebody who is away wrote and got no answer", "person", away, "setting", "the settings file no longer names them in [[people]]")
		return
	}
	if person == nil || person.Source == core.FromOpen { // no setting names them
		// Single quotes, because logs escape double ones, and it is to be copied.
		log.InfoContext(ctx, "a stranger wrote and got no answer", "add_to_people", "identities = ['"+identity+"']",
			"setting", r.missing(l, conv, false))
		return
	}
	log.InfoContext(ctx, "somebody known wrote where they are not served and got no answer", "person", person.Name,
		"setting", r.missing(l, conv, true))
}

// logTooEarly logs, once a channel, that what was written before the first start is not answered.
func (r *committed) logTooEarly(ctx context.Context, channel string) {
	if r.strangers.first("first start\x00" + channel) {
		r.Log.InfoContext(ctx, "messages from before the first start are kept and not answered", "channel", channel, "first_start", r.FirstStart)
	}
}

// missing says which settings keep somebody out of a conversation.
func (r *committed) missing(l *channel, conv channels.Conversation, known bool) string {
	table := "[channels." + l.Name + "]"
	var place string // what keeps everybody out
	switch {
	case conv.Kind == channels.Direct && l.config.DM == "disabled":
		place = `dm = "disabled" in ` + table
	case conv.Kind != channels.Direct && l.config.Groups == "disabled":
		place = `groups = "disabled" in ` + table
	case conv.Kind != channels.Direct && l.config.Groups != "open" && !l.allows(&r.moves, conv):
		place = "this conversation is not in allow_conversations of " + table
	}
	switch {
	case known:
		return place
	case place == "":
		return "the identity is not in [[people]]"
	}
	return "the identity is not in [[people]], and " + place
}

// maxStrangers bounds how many strangers one run of the program logs, so that a
// crowd at the door does not fill the log.
const maxStrangers = 1000

// strangers remembers who was logged already.
type strangers struct {
	mu     sync.Mutex
	logged map[string]bool
}

// first says whether key was not seen before and is to be logged.
func (s *strangers) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logged[key] || len(s.logged) >= maxStrangers {
		return false
	}
	s.logged[key] = true
	return true
}
