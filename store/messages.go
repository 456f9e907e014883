package store

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	incomingColumns = `
		INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, identity, rule, platform_id,
			reply_to, text, said, replaces, quote, outside, forwarded_from, taint, attachments, happened_at, created_at) `
	insertIncoming = incomingColumns + `VALUES (?, ?, 'in', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	// insertUntaken stores nothing when the message is there already, because an
	// edit was told before the message itself.
	insertUntaken = incomingColumns + `
		SELECT ?, ?, 'in', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE ? = '' OR NOT EXISTS (
			SELECT 1 FROM messages WHERE conversation_id = ? AND direction = 'in' AND platform_id = ? AND platform_id <> '')
		RETURNING id`
	insertAttachment = `
		INSERT INTO attachments (message_id, session_id, position, platform_id, kind, name, type, size, taint, created_at, used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertOutgoing = `
		INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, person, author, reply_to, text, taint, notice, final,
			attempt, position, choices, said, created_at)
		VALUES (?, ?, ?, 'out', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	nextSeqs       = `UPDATE conversations SET next_seq = next_seq + ? WHERE id = ? RETURNING next_seq, channel`
	insertDelivery = `
		INSERT INTO deliveries (message_id, conversation_id, channel, seq, part, last, text, rich, extra, reply_to, nonce,
			state, settled, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// botAuthor is who our own messages are by.
const botAuthor = "switchboard"

// Classes of messages that came in, besides those of ledger.Audit.
const (
	classTurn     = "turn"
	classRevision = "revision" // the new state of a message
	classControl  = "control"
	classNotice   = "notice" // it would have been a turn
)

// controlClass is how the message of a control entry is kept.
func controlClass(as *ledger.AsControl) string {
	if as.Refused {
		return classNotice
	}
	return classControl
}

// A form says how a message is kept that is not simply what was written.
type form struct {
	class    string
	typed    any   // what was typed, where the text is another; nil: the text
	replaces int64 // the message that it is the new state of; 0: none
	known    bool  // it is there already, and may be taken all the same
	retryOf  int64 // the turn whose work it asks to be done again; 0: none
}

// incoming stores what somebody wrote.
func (t *tx) incoming(e *ledger.Entry, class string, conversation, session int64) (id int64, err error) {
	id, _, err = t.store(insertIncoming, e, form{class: class}, conversation, session)
	return id, err
}

// duplicate is what becomes of a message that is there already.
var duplicate = ledger.Accepted{Receipt: channels.Receipt{Duplicate: true}}

// untaken is incoming for a message that is to become a turn; taken says that it
// is there already.
func (t *tx) untaken(e *ledger.Entry, f form, conversation, session int64) (id int64, taken bool, err error) {
	if f.replaces != 0 || f.known {
		id, _, err = t.store(insertIncoming, e, f, conversation, session)
		return id, false, err
	}
	platform := clean(string(e.Event.Message.ID))
	id, stored, err := t.store(insertUntaken, e, f, conversation, session, platform, conversation, platform)
	return id, !stored, err
}

func (t *tx) store(query string, e *ledger.Entry, f form, conversation, session int64, more ...any) (id int64, stored bool, err error) {
	m, author := &e.Event.Message, cmp.Or(e.Sender.Person, e.Event.Sender.Label)
	stored, err = t.Row(query, append([]any{
		conversation, orNull(session), f.class, clean(e.Origin), clean(e.Sender.Person), clean(author), clean(e.Sender.Identity), clean(e.Sender.Rule), clean(string(m.ID)),
		clean(string(m.ReplyTo)), clean(m.Text), f.typed, orNull(f.replaces), clean(m.Quote), m.Outside(), clean(m.Origin), clean(string(e.Taint)),
		len(m.Attachments), micros(e.Event.At), t.now,
	}, more...), &id)
	if err != nil || !stored {
		return 0, false, err
	}
	return id, true, t.attach(e, id, session)
}

// attach stores the attachments of a message.
func (t *tx) attach(e *ledger.Entry, message, session int64) error {
	for i, a := range e.Event.Message.Attachments {
		_, err := t.Exec(insertAttachment, message, orNull(session), i, clean(a.ID), string(a.Kind), clean(a.Name), clean(a.Type), a.Size,
			clean(string(e.Taint)), t.now, t.now)
		if err != nil {
			return err
		}
	}
	return nil
}

// An origin says where a message of ours comes from: the text of a task, or the router.
type origin struct {
	class             string
	attempt, position int
	choices, said     any // said: the agent's text, where the message has another
}

func originOf(r *ledger.Reply, say *agent.Say) origin {
	if say == nil {
		return origin{class: "reply", position: -1}
	}
	o := origin{class: "say", attempt: say.Attempt, position: say.Position, choices: jsonList(say.Choices)}
	if say.Text != r.Text {
		o.said = clean(say.Text)
	}
	return o
}

// outgoing stores a message of ours with its deliveries: say is the agent's text
// that r renders; nil for a reply of the router.
func (t *tx) outgoing(conversation, session, turn int64, r *ledger.Reply, say *agent.Say) (id int64, err error) {
	o := originOf(r, say)
	id, err = t.Insert(insertOutgoing, conversation, session, orNull(turn), o.class, clean(r.Person), botAuthor, clean(string(r.ReplyTo)), clean(r.Text),
		clean(string(r.Taint)), r.Notice, r.Final, o.attempt, o.position, o.choices, o.said, t.now)
	if err == nil {
		err = t.propose(session, turn, id, r.Actions)
	}
	if err != nil || len(r.Parts) == 0 {
		return id, err
	}
	var last int64
	var channel string
	if _, err := t.Row(nextSeqs, []any{len(r.Parts), conversation}, &last, &channel); err != nil {
		return 0, err
	}
	state := ledger.DeliveryPending
	if r.Read {
		state = ledger.DeliverySent
	}
	for i, p := range r.Parts {
		seq := last - int64(len(r.Parts)-1-i)
		if i == 0 && r.Draft != 0 {
			if took, err := t.takeDraft(turn, id, seq, r, state); err != nil {
				return 0, err
			} else if took {
				continue
			}
		}
		_, err := t.Exec(insertDelivery, id, conversation, channel, seq, i, i == len(r.Parts)-1, clean(p.Text), richText(p.Rich), extraText(&p),
			clean(string(r.ReplyTo)), rand.Text(), string(state), r.Read, t.now, t.now)
		if err != nil {
			return 0, err
		}
	}
	return id, t.open(r.Open, id)
}

func richText(rich []byte) any {
	if rich == nil {
		return nil
	}
	return clean(string(rich))
}

// extra is what a part has besides text.
type extra struct {
	Files   []channels.File   `json:"files,omitempty"`
	Buttons []channels.Button `json:"buttons,omitempty"`
}

func extraText(b *channels.Body) any {
	if len(b.Files) == 0 && len(b.Buttons) == 0 {
		return nil
	}
	return jsonText(extra{b.Files, b.Buttons})
}

// readBody reads richText and extraText back into b.
func readBody(b *channels.Body, rich, text *string) error {
	if rich != nil {
		b.Rich = []byte(*rich)
	}
	if text == nil {
		return nil
	}
	var x extra
	if err := json.Unmarshal([]byte(*text), &x); err != nil {
		return fmt.Errorf("stored files and buttons of a part: %w", err)
	}
	b.Files, b.Buttons = x.Files, x.Buttons
	return nil
}
