package router

import (
	"context"
	"sync"

	"switchboard/channels"
	"switchboard/router/core"
)

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

// logStranger logs, once each, who wrote to the bot and was not let
// in, and by which words the settings would let them in. They get no answer.
func (r *Router) logStranger(ctx context.Context, entry *classified) {
	event, identity := &entry.Event, entry.Sender.Identity
	conv, l := event.Conversation, entry.line
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
func (r *Router) logTooEarly(ctx context.Context, channel string) {
	if r.strangers.first("first start\x00" + channel) {
		r.Log.InfoContext(ctx, "messages from before the first start are kept and not answered", "channel", channel, "first_start", r.FirstStart)
	}
}

// missing says which settings keep somebody out of a conversation.
func (r *Router) missing(l *channel, conv channels.Conversation, known bool) string {
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
