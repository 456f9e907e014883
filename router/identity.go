package router

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/people"
)

// whoIs finds the person an event comes from, if that person is served where it
// was written; fresh says that the policy is open and this is their first
// message, or the first for a day. nil is a stranger. rule says why they were let in or
// kept out.
func (s *classifier) whoIs(l *channel, event channels.Event) (person *core.Person, fresh bool, rule string) {
	if event.Sender.Bot {
		return nil, false, audit.RuleBot
	}
	if event.Sender.Person != "" {
		if person = s.Roster.Named(event.Sender.Person); person == nil {
			return nil, false, audit.RuleNoPerson
		}
		if event.Sender.Token != "" {
			return person, false, audit.RuleToken
		}
		if event.Sender.Browser {
			return person, false, audit.RuleBrowser
		}
		return person, false, audit.RuleMachine
	}
	open, rule := l.config.DM == "open", audit.RulePeople
	if event.Conversation.Kind != channels.Direct {
		open, rule = l.config.Groups == "open", audit.RulePeopleHere
		if l.config.Groups == "disabled" {
			return nil, false, audit.RuleGroupsDisabled
		} else if !open && !l.allows(s.moves, event.Conversation) {
			return nil, false, audit.RuleNotAllowed
		}
	} else if l.config.DM == "disabled" {
		return nil, false, audit.RuleDMDisabled
	}
	if event.Sender.ID == "" {
		return nil, false, audit.RuleUnnamed
	}
	known := event.Sender.Identities(l.Name, l.Kind)
	if person := s.Roster.Identified(known...); person != nil {
		if person.Source != core.FromOpen {
			return person, false, rule
		} else if !open {
			return nil, false, audit.RuleNoLonger // let in elsewhere, or while it was open here
		}
		return person, time.Since(person.Seen) >= people.SeenEvery, audit.RuleOpen
	}
	// Only who writes becomes a person.
	writes := event.Kind == channels.EventMessage || event.Kind == channels.EventEdited
	if !open || !writes {
		return nil, false, audit.RuleUnknown
	}
	byKind := known[len(known)-1]
	return &core.Person{Name: byKind, Role: core.RoleUser, Identities: []string{byKind}, Tools: []string{"*"}, Source: core.FromOpen}, true, audit.RuleOpen
}

// identity is what a sender is listed under. With two channels of a kind the settings take an
// ID only with its team, so that is how it is listed then.
func (s *classifier) identity(entry *classified, line *channel) string {
	for name, other := range s.here {
		if name != line.Name && other.Kind == line.Kind {
			return ownIdentity(entry, line)
		}
	}
	known := entry.Event.Sender.Identities(line.Name, line.Kind)
	return known[len(known)-1]
}

// isForUs says whether an event is for us at all, as far as it shows by itself.
func (l *channel) isForUs(event channels.Event) bool {
	return !event.Message.Elsewhere && (event.Kind != channels.EventMessage || l.addressed(event))
}

// addressed says whether a message is meant for us where others read along: it names
// or answers us, or is a command. An edit of a message that was taken needs neither,
// nor does a button.
func (l *channel) addressed(event channels.Event) bool {
	if event.Conversation.Kind == channels.Direct || !l.config.RequireMention || event.Message.Mentioned {
		return true
	}
	_, _, ok := command(event.Message)
	return ok
}

// clockSkew is by how much a platform's clock may be behind ours.
const clockSkew = 30 * time.Second

// taintOf says whether somebody else's words came in a message.
func taintOf(m channels.Message) tools.Taint {
	switch {
	case m.Forwarded:
		return "forwarded"
	case m.Enclosed:
		return "enclosed"
	case len(m.Attachments) > 0:
		return "file"
	case m.Quote != "":
		return "quote"
	}
	return tools.Clean
}

// unreadable says why an event cannot be taken, for its sender to read; empty:
// it can. The database and the models take neither broken UTF-8 nor NUL.
func unreadable(event channels.Event) string {
	text := event.Message.Text
	switch {
	case event.Kind == channels.EventUndecodable && event.Reason != "":
		return event.Reason
	case !slices.Contains(kinds, event.Kind):
		return "this kind of event is not known here"
	case event.Key == "":
		return "the event has no key"
	case !readableID(string(event.Conversation.ID)):
		return "the conversation has no readable ID"
	case !readableID(cmp.Or(event.Sender.ID, "-")) || !readableID(cmp.Or(string(event.Message.ID), "-")):
		return "the sender or the message has no readable ID"
	case !slices.Contains([]channels.ConversationKind{channels.Direct, channels.Group, channels.Thread}, event.Conversation.Kind):
		return "this kind of conversation is not known here"
	case incomplete(event):
		return "the event does not say what it is about"
	case !utf8.ValidString(text):
		return "the message is not valid UTF-8; send it as plain text in UTF-8"
	case strings.ContainsRune(text, 0):
		return "the message holds a NUL byte; send it as plain text"
	}
	return ""
}

// kinds are the kinds of events that can be read.
var kinds = []channels.EventKind{
	channels.EventMessage, channels.EventEdited, channels.EventDeleted, channels.EventAction,
	channels.EventReaction, channels.EventMember, channels.EventMoved,
}

// incomplete says that an event lacks what its kind is about.
func incomplete(event channels.Event) bool {
	switch event.Kind {
	case channels.EventEdited, channels.EventDeleted:
		return event.Message.ID == ""
	case channels.EventAction:
		return event.Action.Code == ""
	case channels.EventReaction:
		signs := len(event.Reaction.Added) + len(event.Reaction.Removed)
		return signs == 0 || !readableID(string(event.Reaction.MessageID))
	case channels.EventMember:
		return event.Member != channels.Joined && event.Member != channels.Left
	case channels.EventMoved:
		return !readableID(string(event.Former)) || event.Former == event.Conversation.ID
	}
	return false
}

// longestID is the longest ID taken, in bytes; platforms' own are far shorter, and
// what is longer would not fit an index.
const longestID = 1024

func readableID(id string) bool {
	return id != "" && len(id) <= longestID && utf8.ValidString(id) && !strings.ContainsRune(id, 0)
}

// clean mends what only labels the event, so that no stray byte in a name makes
// a whole message unreadable.
func clean(event *channels.Event) {
	m := &event.Message
	if m.Enclosed {
		m.Text = strings.Join(strings.Fields(m.Text), " ")
	}
	labels := []*string{
		&event.Sender.ID, &event.Sender.Label, &event.Sender.Team, &event.Conversation.Title,
		&event.Conversation.Place, &event.Conversation.Within, &m.Quote, &m.Origin, (*string)(&m.ReplyTo), (*string)(&event.Action.MessageID),
	}
	for i := range m.Attachments {
		a := &m.Attachments[i]
		labels = append(labels, &a.ID, (*string)(&a.Kind), &a.Name, &a.Type)
	}
	for i := range m.Mentions {
		labels = append(labels, &m.Mentions[i].ID, &m.Mentions[i].Label)
	}
	for _, s := range labels {
		*s = readable(*s)
	}
	event.Reaction.Added = signs(event.Reaction.Added)
	event.Reaction.Removed = signs(event.Reaction.Removed)
}

// signs makes the names of signs short and few: they are words that a platform lets
// people choose.
func signs(names []string) []string {
	names = names[:min(len(names), 8)]
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = words.OneLine(readable(name), 32)
	}
	return out
}

// tooEarly says that something was written before the bot's first start. Platforms keep
// such messages for a day and tell them to the first program that asks. A first start that
// lies ahead says nothing: the clock was wrong then.
func (s *classifier) tooEarly(at time.Time) bool {
	return !at.IsZero() && at.Before(s.FirstStart.Add(-clockSkew)) && !s.FirstStart.After(time.Now())
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

// ownIdentity is what a sender is to be known by.
func ownIdentity(entry *classified, line *channel) string {
	known := entry.Event.Sender.Identities(line.Name, line.Kind)
	if entry.Event.Sender.Team != "" {
		return known[1] // an ID without its team may be somebody else's on another channel
	}
	return known[len(known)-1]
}
