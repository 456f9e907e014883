package router

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"switchboard/agent/tools"
	"switchboard/channels"
)

// whoIs finds the person an event comes from, if that person is served where it
// was written; fresh says that the policy is open and this is their first
// message. nil is a stranger, or somebody who did not mean us.
func (r *Router) whoIs(l *line, event channels.Event) (person *Person, fresh bool) {
	if event.Sender.Bot {
		return nil, false
	}
	if event.Sender.Person != "" {
		return r.Roster.Named(event.Sender.Person), false
	}
	open := l.config.DM == "open"
	if event.Conversation.Kind != channels.Direct {
		if l.config.RequireMention && !event.Message.Mentioned && !strings.HasPrefix(event.Message.Text, "/") {
			return nil, false
		}
		open = l.config.Groups == "open"
		if l.config.Groups == "disabled" || !open && !slices.Contains(l.config.AllowConversations, event.Conversation.Place) {
			return nil, false
		}
	} else if l.config.DM == "disabled" {
		return nil, false
	}
	if event.Sender.ID == "" {
		return nil, false
	}
	byKind := l.kind + ":" + event.Sender.ID
	if person := r.Roster.Identified(l.name+":"+event.Sender.ID, byKind); person != nil {
		return person, false
	}
	if !open {
		return nil, false
	}
	return &Person{Name: byKind, Role: RoleUser, Identities: []string{byKind}, Tools: []string{"*"}, Source: "open"}, true
}

// taintOf says whether somebody else's words came in a message.
func taintOf(m channels.Message) tools.Taint {
	switch {
	case m.Forwarded:
		return "forwarded"
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
	case event.Kind != channels.EventMessage:
		return "this kind of event is not known here"
	case event.Key == "":
		return "the event has no key"
	case !readableID(string(event.Conversation.ID)):
		return "the conversation has no readable ID"
	case !readableID(cmp.Or(event.Sender.ID, "-")) || !readableID(cmp.Or(string(event.Message.ID), "-")):
		return "the sender or the message has no readable ID"
	case !slices.Contains([]channels.ConversationKind{channels.Direct, channels.Group, channels.Thread}, event.Conversation.Kind):
		return "this kind of conversation is not known here"
	case !utf8.ValidString(text):
		return "the message is not valid UTF-8; send it as plain text in UTF-8"
	case strings.ContainsRune(text, 0):
		return "the message holds a NUL byte; send it as plain text"
	}
	return ""
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
	for _, s := range []*string{
		&event.Sender.ID, &event.Sender.Label, &event.Sender.Team, &event.Conversation.Title,
		&event.Conversation.Place, &event.Message.Quote,
	} {
		*s = readable(*s)
	}
	for i := range event.Message.Attachments {
		a := &event.Message.Attachments[i]
		a.Name = readable(a.Name)
	}
}

func readable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
