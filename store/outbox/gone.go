package outbox

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	// setLeft does not say that somebody was notified: a delivery that fails of it is
	// notified once all the same.
	setLeft = `UPDATE conversations SET gone_at = ? WHERE id = ? AND gone_at = 0`
	setGone = `
		UPDATE conversations SET gone_at = CASE WHEN gone_at = 0 THEN ? ELSE gone_at END, gone_notified = TRUE
		WHERE channel = ? AND conversation = ? AND gone_notified = FALSE RETURNING id`
	// lastWritten is the order of sessions in which the one where its person wrote last comes
	// first; where no message is kept any more, the one last used.
	lastWritten = `
		ORDER BY CASE WHEN s.person = '' THEN 0 ELSE coalesce((SELECT m.id` + TheirLast + `), 0) END DESC, s.used_at DESC, s.id DESC`
	// TheirLast is the newest message that the person of the session s wrote there.
	TheirLast   = ` FROM messages m WHERE m.session_id = s.id AND m.direction = 'in' AND m.person = s.person AND m.origin <> 'job' ORDER BY m.id DESC LIMIT 1`
	chatColumns = `
		SELECT c.channel, c.conversation AS id, c.kind, c.place, c.title, s.person,
			CASE WHEN s.person = '' THEN '' ELSE coalesce((SELECT m.identity` + TheirLast + `), '') END AS identity`
	// adminChats are the direct conversations of each admin.
	adminChats = chatColumns + `
		FROM people p CROSS JOIN sessions s CROSS JOIN conversations c
		WHERE p.role = 'admin' AND s.person = p.name AND s.person <> '' AND c.id = s.conversation_id AND c.kind = 'direct' AND c.gone_at = 0` + lastWritten
	firstPart   = `SELECT id FROM deliveries WHERE message_id = ? ORDER BY part LIMIT 1`
	personChats = chatColumns + `
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id
		WHERE s.person = ? AND s.person <> '' AND c.kind = 'direct' AND c.gone_at = 0` + lastWritten
	knownChats = chatColumns + `
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE c.gone_at = 0 AND c.kind <> ''` + lastWritten
)

// AcceptMember notes whether a conversation is open to us.
func AcceptMember(t *database.Tx, e *intake.Entry) error {
	if e.Event.Member == channels.Joined {
		_, _, err := sessions.Arrived(t, e.Event.Conversation)
		return err
	}
	p, err := sessions.Place(t, sessions.CleanConversation(e.Event.Conversation))
	if err == nil {
		err = t.Do(setLeft, t.Now, p.Id)
	}
	return err
}

// Gone notes that conv is closed to us; first says that this was not known.
func (r *Store) Gone(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (first bool, err error) {
	err = r.held(ctx, database.Async, "note closed conversation", hold, func(t *database.Tx) error {
		first, err = t.Has(setGone, t.Now, hold.Channel, conv.ID)
		return err
	})
	return first && err == nil, err
}

// AdminChats lists the direct conversations of admins, on any channel; of each the one that they used last
// comes first.
func (r *Store) AdminChats(ctx context.Context) ([]core.Chat, error) {
	return database.List[core.Chat](ctx, r.DB, "list admins' chats", adminChats)
}

// Chats lists the conversations in which somebody was served and that are open to us, the direct chat in which
// its person wrote last first.
func (r *Store) Chats(ctx context.Context) ([]core.Chat, error) {
	return database.List[core.Chat](ctx, r.DB, "list chats", knownChats)
}

// PersonChats lists the direct chats of a person that are open to us, the one in which they wrote last first.
func (r *Store) PersonChats(ctx context.Context, person string) ([]core.Chat, error) {
	return database.List[core.Chat](ctx, r.DB, "list a person's chats", personChats, person)
}

// Notify commits a message of ours to a conversation.
func (r *Store) Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (notified bool, err error) {
	return r.NotifyFor(ctx, key, sessions.KeysLive, conv, reply)
}

// NotifyFor is Notify with a key that is forgotten after so long.
func (r *Store) NotifyFor(ctx context.Context, key []byte, quiet time.Duration, conv channels.Conversation, reply outbox.Reply) (notified bool, err error) {
	return database.Write(ctx, r.DB, database.Durable, "notify", func(t *database.Tx) (bool, error) { return Notify(t, key, quiet, conv, &reply) })
}

// IsNotice says whether a message of ours is a notice.
func (r *Store) IsNotice(ctx context.Context, message int64) (bool, error) {
	return database.Value[bool](ctx, r.DB, "look for a notice", `SELECT notice FROM messages WHERE id = ?`, message)
}

// Notify posts a message of ours unless its key is known; quiet is how long the key stays so.
func Notify(t *database.Tx, key []byte, quiet time.Duration, conv channels.Conversation, reply *outbox.Reply) (notified bool, err error) {
	notified, err = t.Has(sessions.InsertKey, key, t.Now+quiet.Microseconds(), t.Now)
	if err != nil || !notified {
		return false, err
	}
	return true, PostTo(t, conv, reply)
}

// PostTo stores a message of ours that is of no turn.
func PostTo(t *database.Tx, conv channels.Conversation, reply *outbox.Reply) error {
	_, err := ChangePost(t, &outbox.Post{Conversation: conv, Reply: *reply})
	return err
}

// ChangePost is PostTo that says which message it is.
func ChangePost(t *database.Tx, c *outbox.Post) (a audit.Entry, err error) {
	p, err := sessions.Place(t, sessions.CleanConversation(c.Conversation))
	if err != nil {
		return a, err
	}
	if a.Session, c.Message, err = post(t, p.Id, p.Key, &c.Reply); err == nil {
		_, err = t.Row(firstPart, []any{c.Message}, &c.Delivery)
	}
	if err == nil {
		err = sessions.AttachUploads(t, c.Message, a.Session, c.Reply.Taint, c.Uploads)
	}
	data := map[string]any{"message": c.Message, "delivery": c.Delivery}
	if len(c.Uploads) > 0 {
		data["files"] = len(c.Uploads)
	}
	a.Outcome, a.Data = "done", data
	return a, err
}

// Post is PostTo, where the conversation is known.
func Post(t *database.Tx, conversation int64, key string, reply *outbox.Reply) error {
	_, _, err := post(t, conversation, key, reply)
	return err
}

func post(t *database.Tx, conversation int64, key string, reply *outbox.Reply) (session, message int64, err error) {
	session, err = sessions.FindOrMake(t, conversation, key, "")
	if err != nil {
		return 0, 0, err
	}
	message, err = Outgoing(t, conversation, session, 0, reply, nil)
	if err == nil {
		_, err = sessions.Emit(t, session, sessions.Event{Kind: "message", Message: message})
	}
	return session, message, err
}
