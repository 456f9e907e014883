package store

import (
	"switchboard/channels"
)

const (
	findConversation = `SELECT id, kind, place, title, gone_at <> 0 OR gone_notified FROM conversations WHERE channel = ? AND conversation = ?`
	findMoved        = `
		SELECT c.id, c.conversation FROM moved m JOIN conversations c ON c.id = m.conversation_id WHERE m.channel = ? AND m.former = ?`
	insertConversation = `
		INSERT INTO conversations (channel, conversation, kind, place, title, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (channel, conversation) DO NOTHING`
	updateConversation = `UPDATE conversations SET kind = ?, place = ?, title = ?, gone_at = 0, gone_notified = FALSE WHERE id = ?`
	findSession        = `SELECT id, person FROM sessions WHERE conversation_id = ?`
	insertSession      = `
		INSERT INTO sessions (conversation_id, key, used_at, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (conversation_id) DO NOTHING`
	setSessionPerson = `UPDATE sessions SET person = ? WHERE id = ?`
	lockSession      = `SELECT conversation_id FROM sessions WHERE id = ?`
)

// sessionKey is the name of a conversation's session, unique over all channels:
// a channel's name holds no colon.
func sessionKey(channel string, id channels.ConversationID) string {
	return clean(channel + ":" + string(id))
}

// conversation finds or makes the conversation something comes from, keeps its
// labels fresh, and notes that it is open to us.
func (t *tx) conversation(c channels.Conversation) (id int64, key string, err error) {
	c = cleanConversation(c)
	p, err := t.findOrMake(c)
	if err != nil || p.fresh {
		return p.id, p.key, err
	}
	if c.Title == "" {
		c.Title = p.was.Title
	}
	if p.gone || p.was.Kind != c.Kind || p.was.Place != c.Place || p.was.Title != c.Title {
		_, err = t.Exec(updateConversation, string(c.Kind), c.Place, c.Title, p.id)
	}
	return p.id, p.key, err
}

// stored is a conversation that is there.
type stored struct {
	id    int64
	key   string // of its session
	was   channels.Conversation
	gone  bool
	fresh bool // made just now, or found by a former ID, so that the labels are not its own
}

// A conversationRow is a conversation as a list has it.
type conversationRow struct {
	Channel, Conversation, Kind, Place, Title string
}

func (r conversationRow) conversation() channels.Conversation {
	return channels.Conversation{
		Channel: r.Channel, ID: channels.ConversationID(r.Conversation), Kind: channels.ConversationKind(r.Kind),
		Place: r.Place, Title: r.Title,
	}
}

// findOrMake finds or makes a conversation, whose labels are clean.
func (t *tx) findOrMake(c channels.Conversation) (p stored, err error) {
	p, found, err := t.find(c)
	if err != nil || found {
		return p, err
	}
	if _, err := t.Exec(insertConversation, c.Channel, string(c.ID), string(c.Kind), c.Place, c.Title, t.now); err != nil {
		return p, err
	}
	p, _, err = t.find(c)
	p.fresh = true
	return p, err
}

// find finds a conversation, whose labels are clean. One that has moved is found by
// its former ID too.
func (t *tx) find(c channels.Conversation) (p stored, found bool, err error) {
	p.key = sessionKey(c.Channel, c.ID)
	found, err = t.Row(t.kept(findConversation, ""), []any{c.Channel, string(c.ID)}, &p.id, &p.was.Kind, &p.was.Place, &p.was.Title, &p.gone)
	if err != nil || found {
		return p, found, err
	}
	var current channels.ConversationID
	if found, err = t.Row(t.kept(findMoved, " OF c"), []any{c.Channel, string(c.ID)}, &p.id, &current); found {
		p.key, p.fresh = sessionKey(c.Channel, current), true
	}
	return p, found, err
}

// kept is appended to a SELECT of a conversation that retention must not take before
// the transaction ends; of says which table's row it is.
func (t *tx) kept(query, of string) string {
	if t.PG {
		return query + " FOR KEY SHARE" + of
	}
	return query
}

func cleanConversation(c channels.Conversation) channels.Conversation {
	c.Channel, c.ID = clean(c.Channel), channels.ConversationID(clean(string(c.ID)))
	c.Place, c.Title = clean(c.Place), clean(c.Title)
	return c
}

// session finds or makes a conversation's session, and locks it. person is who writes in
// a direct chat; empty: nobody.
func (t *tx) session(conversation int64, key, person string) (id int64, err error) {
	id, was, found, err := t.sessionOf(conversation)
	if err == nil && !found {
		if _, err = t.Exec(insertSession, conversation, key, t.now, t.now); err == nil {
			id, was, _, err = t.sessionOf(conversation)
		}
	}
	if err == nil && person != "" && person != was {
		_, err = t.Exec(setSessionPerson, person, id)
	}
	return id, err
}

// sessionOf finds a conversation's session, and locks it; person is who wrote last, in a
// direct chat.
func (t *tx) sessionOf(conversation int64) (id int64, person string, found bool, err error) {
	found, err = t.Row(t.Locked(findSession), []any{conversation}, &id, &person)
	return id, person, found, err
}

// lock locks a session's row and returns its conversation; found is false when
// there is no such session. Whoever changes turns, leases of the session, or
// takes event numbers has locked it.
func (t *tx) lock(session int64) (conversation int64, found bool, err error) {
	found, err = t.Row(t.Locked(lockSession), []any{session}, &conversation)
	return conversation, found, err
}
