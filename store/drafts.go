package store

import (
	"context"
	"crypto/rand"

	"switchboard/channels"
	"switchboard/router"
)

// A draft is a delivery of a message of its own, class draft, until a message that
// is said takes the delivery over.

const (
	openDraft = `
		SELECT d.id, d.platform_id, d.text FROM turns t JOIN deliveries d ON d.id = t.draft_id AND d.state = 'draft' WHERE t.id = ?`
	insertDraftMessage = `
		INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, author, text, created_at)
		VALUES (?, ?, ?, 'out', 'draft', ?, '', ?) RETURNING id`
	insertDraft = `
		INSERT INTO deliveries (message_id, conversation_id, channel, part, last, text, rich, extra, nonce, state, settled,
			created_at, updated_at)
		SELECT ?, id, channel, 0, TRUE, ?, ?, ?, ?, 'draft', TRUE, ?, ? FROM conversations WHERE id = ? RETURNING id`
	setDraft = `UPDATE turns SET draft_id = ? WHERE id = ?`
	// A draft that was sent while its place was taken gives its ID to what took it,
	// as long as that was not sent itself.
	recordDraft = `
		UPDATE deliveries SET text = CASE WHEN state = 'draft' THEN ? ELSE text END,
			platform_id = CASE WHEN ? = '' THEN platform_id ELSE ? END, updated_at = ?
		WHERE id = ? AND message_id IN (SELECT id FROM messages WHERE turn_id = ?)
		AND (state = 'draft' OR state = 'pending' AND tries = 0 AND platform_id = '')`
	draftMessage = `SELECT message_id FROM deliveries WHERE id = ? AND state = 'draft'`
	takeDraft    = `
		UPDATE deliveries SET message_id = ?, seq = ?, part = 0, last = ?, text = ?, rich = ?, extra = ?, reply_to = ?,
			state = ?, settled = ?, created_at = ?, updated_at = ?
		WHERE id = ?`
	deleteMessage = `DELETE FROM messages WHERE id = ?`
	leaveDraft    = `UPDATE turns SET draft_id = NULL WHERE id = ? AND draft_id = ?`
	dropDraft     = `UPDATE deliveries SET state = 'dropped', outcome = 'not_needed', updated_at = ? WHERE id = ? AND state = 'draft'`
)

// Draft implements router.Turns.
func (r *Router) Draft(ctx context.Context, ref router.TurnRef, body channels.Body) (*router.Draft, error) {
	var d router.Draft
	err := r.db.write(ctx, rides, "begin draft", func(t *tx) error {
		conversation, err := t.holding(ref)
		if err != nil {
			return err
		}
		if found, err := t.row(openDraft, []any{ref.TurnID}, &d.Delivery, &d.PlatformID, &d.Text); err != nil || found {
			return err
		}
		message, err := t.insert(insertDraftMessage, conversation, ref.SessionID, ref.TurnID, botAuthor, t.now)
		if err != nil {
			return err
		}
		d.Text = clean(body.Text)
		d.Delivery, err = t.insert(insertDraft, message, d.Text, richText(body.Rich), extraText(&body), rand.Text(), t.now, t.now, conversation)
		if err == nil {
			_, err = t.exec(setDraft, d.Delivery, ref.TurnID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// Drafted implements router.Turns.
func (r *Router) Drafted(ctx context.Context, ref router.TurnRef, d *router.Draft) error {
	return r.db.write(ctx, rides, "record draft", func(t *tx) error {
		if _, err := t.holding(ref); err != nil {
			return err
		}
		platform := clean(string(d.PlatformID))
		_, err := t.exec(recordDraft, clean(d.Text), platform, platform, t.now, d.Delivery, ref.TurnID)
		return err
	})
}

// takeDraft gives the draft's place to the first part of a message; took is false
// when it is no open draft.
func (t *tx) takeDraft(turn, message, seq int64, r *router.Reply, state router.DeliveryState) (took bool, err error) {
	n, err := t.exec(leaveDraft, turn, r.Draft)
	if err != nil || n == 0 {
		return false, err
	}
	var former int64
	found, err := t.row(draftMessage, []any{r.Draft}, &former)
	if err != nil || !found {
		return false, err
	}
	p := &r.Parts[0]
	if _, err = t.exec(takeDraft, message, seq, len(r.Parts) == 1, clean(p.Text), richText(p.Rich), extraText(p), clean(string(r.ReplyTo)),
		string(state), r.Read, t.now, t.now, r.Draft); err != nil {
		return false, err
	}
	_, err = t.exec(deleteMessage, former)
	return err == nil, err
}
