package store

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/store/engines"
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
		ORDER BY CASE WHEN s.person = '' THEN 0 ELSE coalesce((SELECT m.id` + theirLast + `), 0) END DESC, s.used_at DESC, s.id DESC`
	theirLast   = ` FROM messages m WHERE m.session_id = s.id AND m.direction = 'in' AND m.person = s.person AND m.origin <> 'job' ORDER BY m.id DESC LIMIT 1`
	chatColumns = `
		SELECT c.channel, c.conversation, c.kind, c.place, c.title, s.person,
			CASE WHEN s.person = '' THEN '' ELSE coalesce((SELECT m.identity` + theirLast + `), '') END AS identity`
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

// acceptMember notes whether a conversation is open to us.
func (t *tx) acceptMember(e *ledger.Entry) error {
	if e.Event.Member == channels.Joined {
		_, _, err := t.conversation(e.Event.Conversation)
		return err
	}
	p, err := t.findOrMake(cleanConversation(e.Event.Conversation))
	if err == nil {
		_, err = t.Exec(setLeft, t.now, p.id)
	}
	return err
}

// Gone implements delivery.Outbox.
func (r *Router) Gone(ctx context.Context, hold ledger.Hold, conv channels.Conversation) (first bool, err error) {
	err = r.db.write(ctx, rides, "note closed conversation", func(t *tx) error {
		if err := t.Fenced(engines.Channel, clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
		var id int64
		first, err = t.Row(setGone, []any{t.now, clean(hold.Channel), clean(string(conv.ID))}, &id)
		return err
	})
	return first && err == nil, err
}

// AdminChats implements delivery.Notices.
func (r *Router) AdminChats(ctx context.Context) ([]ledger.Chat, error) {
	return r.chats(ctx, "list admins' chats", adminChats)
}

// Chats implements router.Views.
func (r *Router) Chats(ctx context.Context) ([]ledger.Chat, error) {
	return r.chats(ctx, "list chats", knownChats)
}

// PersonChats implements router.Submissions.
func (r *Router) PersonChats(ctx context.Context, person string) ([]ledger.Chat, error) {
	return r.chats(ctx, "list a person's chats", personChats, clean(person))
}

func (r *Router) chats(ctx context.Context, what, query string, args ...any) (list []ledger.Chat, err error) {
	err = r.db.read(ctx, what, func(t *tx) error {
		var rows []struct {
			conversationRow
			Person, Identity string
		}
		err := t.All(&rows, query, args...)
		for _, c := range rows {
			list = append(list, ledger.Chat{Conversation: c.conversation(), Person: c.Person, Identity: c.Identity})
		}
		return err
	})
	return list, err
}

// Notify implements delivery.Notices.
func (r *Router) Notify(ctx context.Context, key []byte, conv channels.Conversation, reply ledger.Reply) (notified bool, err error) {
	return r.NotifyFor(ctx, key, keysLive, conv, reply)
}

// NotifyFor implements delivery.Notices.
func (r *Router) NotifyFor(ctx context.Context, key []byte, quiet time.Duration, conv channels.Conversation, reply ledger.Reply) (notified bool, err error) {
	err = r.db.write(ctx, full, "notify", func(t *tx) error {
		notified, err = t.notify(key, quiet, conv, &reply)
		return err
	})
	return notified && err == nil, err
}

// IsNotice implements delivery.Notices.
func (r *Router) IsNotice(ctx context.Context, message int64) (is bool, err error) {
	err = r.db.read(ctx, "look for a notice", func(t *tx) error {
		_, err := t.Row(`SELECT notice FROM messages WHERE id = ?`, []any{message}, &is)
		return err
	})
	return is, err
}

func (t *tx) notify(key []byte, quiet time.Duration, conv channels.Conversation, reply *ledger.Reply) (notified bool, err error) {
	var one int
	notified, err = t.Row(insertKey, []any{key, t.now + quiet.Microseconds(), t.now}, &one)
	if err != nil || !notified {
		return false, err
	}
	err = t.postTo(conv, reply)
	return err == nil, err
}

// postTo stores a message of ours that is of no turn.
func (t *tx) postTo(conv channels.Conversation, reply *ledger.Reply) error {
	p, err := t.findOrMake(cleanConversation(conv))
	if err != nil {
		return err
	}
	return t.post(p.id, p.key, reply)
}

// post is postTo, where the conversation is known.
func (t *tx) post(conversation int64, key string, reply *ledger.Reply) error {
	session, err := t.session(conversation, key, "")
	if err != nil {
		return err
	}
	message, err := t.outgoing(conversation, session, 0, reply, nil)
	if err == nil {
		_, err = t.emit(session, event{Kind: "message", Message: message})
	}
	return err
}
