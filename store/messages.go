package store

import (
	"crypto/rand"

	"switchboard/agent"
	"switchboard/router"
)

const (
	insertIncoming = `
		INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, identity, platform_id,
			reply_to, text, quote, forwarded, taint, happened_at, created_at)
		VALUES (?, ?, 'in', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	insertAttachment = `
		INSERT INTO attachments (message_id, position, platform_id, name, type, size) VALUES (?, ?, ?, ?, ?, ?)`
	insertOutgoing = `
		INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, author, reply_to, text, taint, notice, final,
			attempt, position, choices, said, created_at)
		VALUES (?, ?, ?, 'out', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	nextSeqs       = `UPDATE conversations SET next_seq = next_seq + ? WHERE id = ? RETURNING next_seq, channel`
	insertDelivery = `
		INSERT INTO deliveries (message_id, conversation_id, channel, seq, part, last, text, rich, reply_to, nonce,
			state, settled, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// botAuthor is who our own messages are by.
const botAuthor = "switchboard"

// incoming stores what somebody wrote.
func (t *tx) incoming(e *router.Entry, class router.Class, conversation, session int64) (id int64, err error) {
	m, author := &e.Event.Message, e.Person
	if author == "" {
		author = e.Event.Sender.Label
	}
	id, err = t.insert(insertIncoming, conversation, orNull(session), string(class), clean(e.Origin), clean(e.Person), clean(author),
		clean(e.Identity), clean(string(m.ID)), clean(string(m.ReplyTo)), clean(m.Text), clean(m.Quote), m.Forwarded,
		clean(string(e.Taint)), micros(e.Event.At), t.now)
	if err != nil {
		return 0, err
	}
	for i, a := range m.Attachments {
		if _, err := t.exec(insertAttachment, id, i, clean(a.ID), clean(a.Name), clean(a.Type), a.Size); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// outgoing stores a message of ours with its deliveries: say is the agent's text
// that r renders; nil for a reply of the router.
func (t *tx) outgoing(conversation, session, turn int64, r *router.Reply, say *agent.Say) (id int64, err error) {
	class, attempt, position := "reply", 0, -1
	var choices, said any
	if say != nil {
		class, attempt, position, choices = "say", say.Attempt, say.Position, jsonList(say.Choices)
		if say.Text != r.Text {
			said = clean(say.Text)
		}
	}
	id, err = t.insert(insertOutgoing, conversation, session, orNull(turn), class, botAuthor, clean(string(r.ReplyTo)), clean(r.Text),
		clean(string(r.Taint)), r.Notice, r.Final, attempt, position, choices, said, t.now)
	if err != nil || len(r.Parts) == 0 {
		return id, err
	}
	var last int64
	var channel string
	if _, err := t.row(nextSeqs, []any{len(r.Parts), conversation}, &last, &channel); err != nil {
		return 0, err
	}
	state := router.DeliveryPending
	if r.Read {
		state = router.DeliverySent
	}
	for i, p := range r.Parts {
		seq := last - int64(len(r.Parts)-1-i)
		_, err := t.exec(insertDelivery, id, conversation, channel, seq, i, i == len(r.Parts)-1, clean(p.Text), richText(p.Rich),
			clean(string(r.ReplyTo)), rand.Text(), string(state), r.Read, t.now, t.now)
		if err != nil {
			return 0, err
		}
	}
	return id, nil
}

func richText(rich []byte) any {
	if rich == nil {
		return nil
	}
	return clean(string(rich))
}
