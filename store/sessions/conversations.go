package sessions

import (
	"switchboard/channels"
	"switchboard/router/sessions"
	"switchboard/store/database"
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
	dropSummary      = `DELETE FROM recalled WHERE kind = 'summary' AND ref = ?`
	// newest: what is there already is not looked at, summed up or indexed any more, nor what turns that are there say yet.
	newest = `summary = '', summary_taint = '',
		looked_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
		summed_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
		indexed_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
		indexed_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0),
		left_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0),
		reported_to = coalesce((SELECT max(id) FROM messages WHERE conversation_id = sessions.conversation_id AND session_id IS NULL), 0)`
	leaveBehind = `UPDATE sessions SET ` + newest + ` WHERE id = ?`
	lockSession = `SELECT conversation_id FROM sessions WHERE id = ?`
)

// SessionKey is the name of a conversation's session, unique over all channels:
// a channel's name holds no colon.
func SessionKey(channel string, id channels.ConversationID) string {
	return database.Clean(channel + ":" + string(id))
}

// Arrived finds or makes the conversation something comes from, keeps its
// labels fresh, and notes that it is open to us.
func Arrived(t *database.Tx, c channels.Conversation) (id int64, key string, err error) {
	c = CleanConversation(c)
	p, err := Place(t, c)
	if err != nil || p.fresh {
		return p.Id, p.Key, err
	}
	if c.Title == "" {
		c.Title = p.was.Title
	}
	if p.Gone || p.was.Kind != c.Kind || p.was.Place != c.Place || p.was.Title != c.Title {
		err = t.Do(updateConversation, c.Kind, c.Place, c.Title, p.Id)
	}
	return p.Id, p.Key, err
}

// Stored is a conversation that is there.
type Stored struct {
	Id    int64
	Key   string // of its session
	was   channels.Conversation
	Gone  bool
	fresh bool // made just now, or found by a former ID, so that the labels are not its own
}

// Columns are a conversation c, for a field of that name.
const Columns = `c.channel AS "conversation.channel", c.conversation AS "conversation.id", c.kind AS "conversation.kind", c.place AS "conversation.place",
	c.title AS "conversation.title"`

// Place finds or makes a conversation, whose labels are clean.
func Place(t *database.Tx, c channels.Conversation) (p Stored, err error) {
	p, found, err := FindPlace(t, c)
	if err != nil || found {
		return p, err
	}
	if err := t.Do(insertConversation, c.Channel, c.ID, c.Kind, c.Place, c.Title, t.Now); err != nil {
		return p, err
	}
	p, _, err = FindPlace(t, c)
	p.fresh = true
	return p, err
}

// FindPlace finds a conversation, whose labels are clean. One that has moved is found by
// its former ID too.
func FindPlace(t *database.Tx, c channels.Conversation) (p Stored, found bool, err error) {
	p.Key = SessionKey(c.Channel, c.ID)
	found, err = t.Row(KeyShared(t, findConversation, ""), []any{c.Channel, c.ID}, &p.Id, &p.was.Kind, &p.was.Place, &p.was.Title, &p.Gone)
	if err != nil || found {
		return p, found, err
	}
	var current channels.ConversationID
	if found, err = t.Row(KeyShared(t, findMoved, " OF c"), []any{c.Channel, c.ID}, &p.Id, &current); found {
		p.Key, p.fresh = SessionKey(c.Channel, current), true
	}
	return p, found, err
}

// KeyShared is appended to a SELECT of a conversation that retention must not take before
// the transaction ends; of says which table's row it is.
func KeyShared(t *database.Tx, query, of string) string {
	return t.With(query, " FOR KEY SHARE"+of)
}

// CleanConversation is a conversation whose texts both databases can hold.
func CleanConversation(c channels.Conversation) channels.Conversation {
	c.Channel, c.ID = database.Clean(c.Channel), channels.ConversationID(database.Clean(string(c.ID)))
	c.Place, c.Title = database.Clean(c.Place), database.Clean(c.Title)
	return c
}

// FindOrMake finds or makes a conversation's session, and locks it. person is who writes in
// a direct chat; empty: nobody.
func FindOrMake(t *database.Tx, conversation int64, key, person string) (id int64, err error) {
	id, was, err := madeOrFound(t, conversation, key)
	if err == nil && person != "" && person != was {
		if err = t.Do(setSessionPerson, person, id); err == nil && was != "" { // the same chat is another person's now
			err = LeaveBehind(t, id)
		}
	}
	return id, err
}

// FindOrOwn is FindOrMake where whoever writes first keeps the session: sessions.ErrTaken, if it is another person's.
func FindOrOwn(t *database.Tx, conversation int64, key, person string) (id int64, err error) {
	id, was, err := madeOrFound(t, conversation, key)
	switch {
	case err != nil || was == person:
		return id, err
	case was != "":
		return 0, sessions.ErrTaken
	}
	return id, t.Do(setSessionPerson, person, id)
}

func madeOrFound(t *database.Tx, conversation int64, key string) (id int64, person string, err error) {
	id, person, found, err := SessionOf(t, conversation)
	if err == nil && !found {
		if err = t.Do(insertSession, conversation, key, t.Now, t.Now); err == nil {
			id, person, _, err = SessionOf(t, conversation)
		}
	}
	return id, person, err
}

// LeaveBehind has memory leave alone what is in a session already: it has no summary, and what was said is neither learned nor found.
// What is found of it by now stays so.
func LeaveBehind(t *database.Tx, session int64) error {
	return t.Run(database.Do(leaveBehind, session), database.Do(dropSummary, session))
}

// SessionOf finds a conversation's session, and locks it; person is who wrote last, in a
// direct chat.
func SessionOf(t *database.Tx, conversation int64) (id int64, person string, found bool, err error) {
	found, err = t.Row(t.Locked(findSession), []any{conversation}, &id, &person)
	return id, person, found, err
}

// Lock locks a session's row and returns its conversation; found is false when
// there is no such session. Whoever changes turns, leases of the session, or
// takes event numbers has locked it.
func Lock(t *database.Tx, session int64) (conversation int64, found bool, err error) {
	found, err = t.Row(t.Locked(lockSession), []any{session}, &conversation)
	return conversation, found, err
}
