package outbox

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/engines"
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
		SELECT c.channel, c.conversation, c.kind, c.place, c.title, s.person,
			CASE WHEN s.person = '' THEN '' ELSE coalesce((SELECT m.identity` + TheirLast + `), '') END AS identity`
	// adminChats are the direct conversations of each admin.
	adminChats = chatColumns + `
		FROM people p CROSS JOIN sessions s CROSS JOIN conversations c
		WHERE p.role = 'admin' AND s.person = p.name AND s.person <> '' AND c.id = s.conversation_id AND c.kind = 'direct' AND c.gone_at = 0` + lastWritten
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
		_, err = t.Exec(setLeft, t.Now, p.Id)
	}
	return err
}

// Gone implements delivery.Outbox.
func (r *Store) Gone(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (first bool, err error) {
	err = r.Write(ctx, database.Async, "note closed conversation", func(t *database.Tx) error {
		if err := engines.Fenced(t, engines.Channel, database.Clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
		var id int64
		first, err = t.Row(setGone, []any{t.Now, database.Clean(hold.Channel), database.Clean(string(conv.ID))}, &id)
		return err
	})
	return first && err == nil, err
}

// AdminChats implements delivery.Notices.
func (r *Store) AdminChats(ctx context.Context) ([]core.Chat, error) {
	return r.chats(ctx, "list admins' chats", adminChats)
}

// Chats implements router.Views.
func (r *Store) Chats(ctx context.Context) ([]core.Chat, error) {
	return r.chats(ctx, "list chats", knownChats)
}

// PersonChats implements router.Submissions.
func (r *Store) PersonChats(ctx context.Context, person string) ([]core.Chat, error) {
	return r.chats(ctx, "list a person's chats", personChats, database.Clean(person))
}

func (r *Store) chats(ctx context.Context, what, query string, args ...any) (list []core.Chat, err error) {
	err = r.Read(ctx, what, func(t *database.Tx) error {
		var rows []struct {
			sessions.ConversationRow
			Person, Identity string
		}
		err := t.All(&rows, query, args...)
		for _, c := range rows {
			list = append(list, core.Chat{Conversation: c.Where(), Person: c.Person, Identity: c.Identity})
		}
		return err
	})
	return list, err
}

// Notify implements delivery.Notices.
func (r *Store) Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (notified bool, err error) {
	return r.NotifyFor(ctx, key, sessions.KeysLive, conv, reply)
}

// NotifyFor implements delivery.Notices.
func (r *Store) NotifyFor(ctx context.Context, key []byte, quiet time.Duration, conv channels.Conversation, reply outbox.Reply) (notified bool, err error) {
	err = r.Write(ctx, database.Durable, "notify", func(t *database.Tx) error {
		notified, err = Notify(t, key, quiet, conv, &reply)
		return err
	})
	return notified && err == nil, err
}

// IsNotice implements delivery.Notices.
func (r *Store) IsNotice(ctx context.Context, message int64) (is bool, err error) {
	err = r.Read(ctx, "look for a notice", func(t *database.Tx) error {
		_, err := t.Row(`SELECT notice FROM messages WHERE id = ?`, []any{message}, &is)
		return err
	})
	return is, err
}

// Notify posts a message of ours unless its key is known; quiet is how long the key stays so.
func Notify(t *database.Tx, key []byte, quiet time.Duration, conv channels.Conversation, reply *outbox.Reply) (notified bool, err error) {
	var one int
	notified, err = t.Row(sessions.InsertKey, []any{key, t.Now + quiet.Microseconds(), t.Now}, &one)
	if err != nil || !notified {
		return false, err
	}
	err = PostTo(t, conv, reply)
	return err == nil, err
}

// PostTo stores a message of ours that is of no turn.
func PostTo(t *database.Tx, conv channels.Conversation, reply *outbox.Reply) error {
	p, err := sessions.Place(t, sessions.CleanConversation(conv))
	if err != nil {
		return err
	}
	return Post(t, p.Id, p.Key, reply)
}

// Post is postTo, where the conversation is known.
func Post(t *database.Tx, conversation int64, key string, reply *outbox.Reply) error {
	session, err := sessions.FindOrMake(t, conversation, key, "")
	if err != nil {
		return err
	}
	message, err := Outgoing(t, conversation, session, 0, reply, nil)
	if err == nil {
		_, err = sessions.Emit(t, session, sessions.Event{Kind: "message", Message: message})
	}
	return err
}
