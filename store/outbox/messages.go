package outbox

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
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

// An origin says where a message of ours comes from: the text of a task, or the router.
type origin struct {
	class             string
	attempt, position int
	choices, said     any // said: the agent's text, where the message has another
}

func originOf(r *outbox.Reply, say *agent.Say) origin {
	if say == nil {
		return origin{class: "reply", position: -1}
	}
	o := origin{class: "say", attempt: say.Attempt, position: say.Position, choices: say.Choices}
	if say.Text != r.Text {
		o.said = database.Clean(say.Text)
	}
	return o
}

// Outgoing stores a message of ours with its deliveries: say is the agent's text
// that r renders; nil for a reply of the router.
func Outgoing(t *database.Tx, conversation, session, turn int64, r *outbox.Reply, say *agent.Say) (id int64, err error) {
	o := originOf(r, say)
	id, err = t.Insert(insertOutgoing, conversation, session, sessions.OrNull(turn), o.class, r.Person, botAuthor, r.ReplyTo, r.Text,
		r.Taint, r.Notice, r.Final, o.attempt, o.position, o.choices, o.said, t.Now)
	if err == nil {
		err = propose(t, session, turn, id, r.Actions)
	}
	if err != nil || len(r.Parts) == 0 {
		return id, err
	}
	var last int64
	var channel string
	if _, err := t.Row(nextSeqs, []any{len(r.Parts), conversation}, &last, &channel); err != nil {
		return 0, err
	}
	state := outbox.DeliveryPending
	if r.Read {
		state = outbox.DeliverySent
	}
	for i, p := range r.Parts {
		seq := last - int64(len(r.Parts)-1-i)
		if i == 0 && r.Draft != 0 {
			if took, err := TakeDraft(t, turn, id, seq, r, state); err != nil {
				return 0, err
			} else if took {
				continue
			}
		}
		_, err := t.Exec(insertDelivery, id, conversation, channel, seq, i, i == len(r.Parts)-1, p.Text, richText(p.Rich), extraText(&p),
			r.ReplyTo, rand.Text(), state, r.Read, t.Now, t.Now)
		if err != nil {
			return 0, err
		}
	}
	return id, open(t, r.Open, id)
}

func richText(rich []byte) any {
	if rich == nil {
		return nil
	}
	return database.Clean(string(rich))
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
	return database.JSONText(extra{b.Files, b.Buttons})
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
