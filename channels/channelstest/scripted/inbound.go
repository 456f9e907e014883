package scripted

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
	kind := cmp.Or(channels.ConversationKind(m.Kind), channels.Direct)
	return channels.Event{
		Key: messageKey(c.name, m.Conversation, m.ID), Kind: channels.EventMessage,
		Conversation: channels.Conversation{
			Channel: c.name, ID: channels.ConversationID(m.Conversation), Kind: kind,
			Place: cmp.Or(m.Place, m.Conversation), Title: m.Title,
		},
		Sender: channels.Sender{ID: m.User, Label: cmp.Or(m.Label, m.User), Bot: m.Bot},
		Message: channels.Message{
			ID: channels.MessageID(m.ID), Text: m.Text, ReplyTo: channels.MessageID(m.ReplyTo),
			Quote: m.Quote, Forwarded: m.Forwarded, Mentioned: m.Mentioned, Attachments: m.Attachments,
		},
		At: m.At,
	}
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
	if m.ID == "" || m.Conversation == "" || m.User == "" {
		return m, errors.New("id, conversation or user is missing")
	}
	return m, nil
}
