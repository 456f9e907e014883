package store

import (
	"switchboard/channels"
)

const (
	findConversation   = `SELECT id, kind, place, title FROM conversations WHERE channel = ? AND conversation = ?`
	insertConversation = `
		INSERT INTO conversations (channel, conversation, kind, place, title, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (channel, conversation) DO NOTHING`
	updateConversation = `UPDATE conversations SET kind = ?, place = ?, title = ? WHERE id = ?`
	findSession        = `SELECT id FROM sessions WHERE conversation_id = ?`
	insertSession      = `
		INSERT INTO sessions (conversation_id, key, created_at) VALUES (?, ?, ?)
		ON CONFLICT (conversation_id) DO NOTHING`
	lockSession = `SELECT conversation_id FROM sessions WHERE id = ?`
)

// sessionKey is the name of a conversation's session, unique over all channels:
// a channel's name holds no colon.
func sessionKey(channel string, id channels.ConversationID) string {
	return clean(channel + ":" + string(id))
}

// conversation finds or makes a conversation and keeps its labels fresh.
func (t *tx) conversation(c channels.Conversation) (id int64, err error) {
	c = cleanConversation(c)
	var was channels.Conversation
	find := func() (bool, error) {
		return t.row(findConversation, []any{c.Channel, string(c.ID)}, &id, &was.Kind, &was.Place, &was.Title)
	}
	found, err := find()
	if err == nil && !found {
		if _, err := t.exec(insertConversation, c.Channel, string(c.ID), string(c.Kind), c.Place, c.Title, t.now); err != nil {
			return 0, err
		}
		_, err = find()
		return id, err
	}
	if err != nil {
		return 0, err
	}
	if c.Title == "" {
		c.Title = was.Title
	}
	if was.Kind != c.Kind || was.Place != c.Place || was.Title != c.Title {
		_, err = t.exec(updateConversation, string(c.Kind), c.Place, c.Title, id)
	}
	return id, err
}

func cleanConversation(c channels.Conversation) channels.Conversation {
	c.Channel, c.ID = clean(c.Channel), channels.ConversationID(clean(string(c.ID)))
	c.Place, c.Title = clean(c.Place), clean(c.Title)
	return c
}

// session finds or makes a conversation's session.
func (t *tx) session(conversation int64, c channels.Conversation) (id int64, err error) {
	found, err := t.row(findSession, []any{conversation}, &id)
	if err != nil || found {
		return id, err
	}
	if _, err := t.exec(insertSession, conversation, sessionKey(c.Channel, c.ID), t.now); err != nil {
		return 0, err
	}
	_, err = t.row(findSession, []any{conversation}, &id)
	return id, err
}

// lock locks a session's row and returns its conversation; found is false when
// there is no such session. Whoever changes turns, leases of the session, or
// takes event numbers has locked it.
func (t *tx) lock(session int64) (conversation int64, found bool, err error) {
	found, err = t.row(t.locked(lockSession), []any{session}, &conversation)
	return conversation, found, err
}
