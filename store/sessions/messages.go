package sessions

import (
	"cmp"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store/database"
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
	// An upload becomes the file of the first message that it comes with; those after it have a copy of the row.
	attachUpload = `
		UPDATE attachments SET message_id = ?, session_id = ?, position = ?, taint = ?, used_at = ? WHERE id = ? AND message_id IS NULL`
	copyUpload = `
		INSERT INTO attachments (message_id, session_id, position, taint, used_at, kind, name, type, size, state, reason, blob, uploader, created_at)
		SELECT ?, ?, ?, ?, ?, kind, name, type, size, state, reason, blob, uploader, created_at FROM attachments WHERE id = ?`
	countUploads = `UPDATE messages SET attachments = ? WHERE id = ?`
	unsendable   = `SELECT 1 FROM attachments WHERE message_id = ? AND state <> 'clean'`
	setMetadata  = `UPDATE messages SET metadata = ? WHERE id = ?`
)

// Classes of messages that came in, besides those of intake.Audit.
const (
	ClassTurn     = "turn"
	ClassRevision = "revision" // the new state of a message
	ClassControl  = "control"
	ClassNotice   = "notice" // it would have been a turn
)

// A Form says how a message is kept that is not simply what was written.
type Form struct {
	Class    string
	Typed    any   // what was typed, where the text is another; nil: the text
	Replaces int64 // the message that it is the new state of; 0: none
	Known    bool  // it is there already, and may be taken all the same
	RetryOf  int64 // the turn whose work it asks to be done again; 0: none
}

// Incoming stores what somebody wrote.
func Incoming(t *database.Tx, e *intake.Entry, class string, conversation, session int64) (id int64, err error) {
	id, _, err = store(t, insertIncoming, e, Form{Class: class}, conversation, session)
	return id, err
}

// Duplicate is what becomes of a message that is there already.
var Duplicate = intake.Accepted{Receipt: channels.Receipt{Duplicate: true}}

// Untaken is incoming for a message that is to become a turn; taken says that it
// is there already.
func Untaken(t *database.Tx, e *intake.Entry, f Form, conversation, session int64) (id int64, taken bool, err error) {
	if f.Replaces != 0 || f.Known {
		id, _, err = store(t, insertIncoming, e, f, conversation, session)
		return id, false, err
	}
	platform := database.Clean(string(e.Event.Message.ID))
	id, stored, err := store(t, insertUntaken, e, f, conversation, session, platform, conversation, platform)
	return id, !stored, err
}

func store(t *database.Tx, query string, e *intake.Entry, f Form, conversation, session int64, more ...any) (id int64, stored bool, err error) {
	m, author := &e.Event.Message, cmp.Or(e.Sender.Person, e.Event.Sender.Label)
	stored, err = t.Row(query, append([]any{
		conversation, OrNull(session), f.Class, e.Origin, e.Sender.Person, author, e.Sender.Identity, e.Sender.Rule, m.ID,
		m.ReplyTo, m.Text, f.Typed, OrNull(f.Replaces), m.Quote, m.Outside(), m.Origin, e.Taint,
		len(m.Attachments), e.Event.At, t.Now,
	}, more...), &id)
	if err != nil || !stored {
		return 0, false, err
	}
	if len(m.Metadata) > 0 {
		if err := t.Do(setMetadata, string(m.Metadata), id); err != nil {
			return 0, false, err
		}
	}
	return id, true, Attach(t, e, id, session)
}

// Attach stores the attachments of a message.
func Attach(t *database.Tx, e *intake.Entry, message, session int64) error {
	for i, a := range e.Event.Message.Attachments {
		if a.Upload != 0 {
			if err := attach(t, message, session, i, e.Taint, a.Upload); err != nil {
				return err
			}
			continue
		}
		_, err := t.Exec(insertAttachment, message, OrNull(session), i, a.ID, a.Kind, a.Name, a.Type, a.Size,
			e.Taint, t.Now, t.Now)
		if err != nil {
			return err
		}
	}
	return nil
}

// AttachUploads makes uploads the files of a message of ours. *core.StateError: one of them is not kept any more.
func AttachUploads(t *database.Tx, message, session int64, taint tools.Taint, uploads []int64) error {
	if len(uploads) == 0 {
		return nil
	}
	for i, id := range uploads {
		if err := attach(t, message, session, i, taint, id); err != nil {
			return err
		}
	}
	if lost, err := t.Has(unsendable, message); err != nil {
		return err
	} else if lost {
		return &core.StateError{Sentence: "A file is not kept any more; upload it again."}
	}
	return t.Do(countUploads, len(uploads), message)
}

func attach(t *database.Tx, message, session int64, position int, taint tools.Taint, upload int64) error {
	args := []any{message, OrNull(session), position, taint, t.Now, upload}
	n, err := t.Exec(attachUpload, args...)
	if err == nil && n == 0 {
		err = t.Do(copyUpload, args...)
	}
	return err
}
