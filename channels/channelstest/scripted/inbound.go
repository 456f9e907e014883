package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"switchboard/channels"
)

// event normalises an update. What cannot be read becomes EventUndecodable, so
// that it can be confirmed like any other.
func (c *Channel) event(u Update) channels.Event {
	m, err := decode(u.Data)
	if err != nil {
		return channels.Event{
			Key: updateKey(c.name, u.Event), Kind: channels.EventUndecodable,
			Conversation: channels.Conversation{Channel: c.name}, Raw: u.Data, Reason: err.Error(),
		}
	}
	event := channels.Event{
		Key: eventKey(c.name, u, m), Kind: cmp.Or(m.Event, channels.EventMessage),
		Conversation: channels.Conversation{
			Channel: c.name, ID: channels.ConversationID(m.Conversation),
			Kind:  cmp.Or(channels.ConversationKind(m.Kind), channels.Direct),
			Place: cmp.Or(m.Place, m.Conversation), Title: m.Title,
		},
		Sender: channels.Sender{ID: m.User, Label: cmp.Or(m.Label, m.User), Bot: m.Bot},
		Member: m.Membership, Former: channels.ConversationID(m.Former), At: m.At,
	}
	switch event.Kind {
	case channels.EventAction:
		event.Action = channels.Action{Code: m.Code, MessageID: channels.MessageID(m.ID)}
	case channels.EventReaction:
		event.Reaction = channels.Reaction{MessageID: channels.MessageID(m.ID), Added: m.Added, Removed: m.Removed}
	case channels.EventDeleted:
		event.Message.ID = channels.MessageID(m.ID)
	case channels.EventMessage, channels.EventEdited:
		event.Message = channels.Message{
			ID: channels.MessageID(m.ID), Text: m.Text, ReplyTo: channels.MessageID(m.ReplyTo),
			Quote: m.Quote, Forwarded: m.Forwarded, Enclosed: m.Enclosed, Origin: m.Origin, Mentioned: m.Mentioned,
			Elsewhere: m.Elsewhere, Mentions: m.Mentions, Attachments: m.Attachments,
		}
	}
	return event
}

// needs says which of a message's fields an event cannot be without.
var needs = map[channels.EventKind]func(Message) bool{
	"":                     func(m Message) bool { return m.ID != "" && m.User != "" },
	channels.EventMessage:  func(m Message) bool { return m.ID != "" && m.User != "" },
	channels.EventEdited:   func(m Message) bool { return m.ID != "" && m.User != "" && m.Revision > 0 },
	channels.EventDeleted:  func(m Message) bool { return m.ID != "" },
	channels.EventAction:   func(m Message) bool { return m.User != "" && m.Callback != "" && m.Code != "" },
	channels.EventReaction: func(m Message) bool { return m.ID != "" && m.User != "" },
	channels.EventMember:   func(m Message) bool { return m.Membership != "" },
	channels.EventMoved:    func(m Message) bool { return m.Former != "" },
}

func decode(data []byte) (Message, error) {
	var m Message
	if !utf8.Valid(data) {
		return m, errors.New("not UTF-8")
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("not a message: %w", err)
	}
	switch m.Kind {
	case "", "direct", "group", "thread":
	default:
		return m, fmt.Errorf("unknown kind of conversation %q", m.Kind)
	}
	complete, known := needs[m.Event]
	if !known {
		return m, fmt.Errorf("unknown kind of event %q", m.Event)
	}
	if m.Conversation == "" || !complete(m) {
		return m, errors.New("id, conversation, user or what it is about is missing")
	}
	return m, nil
}

// answerPresses tells whoever pressed a button what became of it.
func (c *Channel) answerPresses(ctx context.Context, updates []Update, batch []channels.Event, receipts []channels.Receipt) {
	for i, event := range batch {
		if event.Kind != channels.EventAction || receipts[i].Silent {
			continue
		}
		m, err := decode(updates[i].Data)
		if err == nil {
			_, err = c.link.Change(ctx, Change{Op: OpToast, ID: channels.MessageID(m.Callback), Post: Post{Text: receipts[i].Toast}})
		}
		if err != nil {
			c.log.DebugContext(ctx, "a press is not answered", "error", err)
		}
	}
}

// Fetch implements channels.Fetcher.
func (c *Channel) Fetch(ctx context.Context, file channels.Attachment, w io.Writer) error {
	reply, err := c.link.Change(ctx, Change{Op: OpFetch, ID: channels.MessageID(file.ID)})
	if err == nil {
		_, err = w.Write(reply.Data)
	}
	return err
}
