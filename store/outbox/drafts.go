package outbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	openDraft = `
		SELECT d.id FROM turns t JOIN deliveries d ON d.id = t.draft_id AND d.state = 'draft' WHERE t.id = ?`
	insertDraftMessage = `
		INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, author, text, created_at)
		VALUES (?, ?, ?, 'out', 'draft', ?, '', ?) RETURNING id`
	insertDraft = `
		INSERT INTO deliveries (message_id, conversation_id, channel, part, last, text, rich, extra, reply_to, nonce, state, settled, draft,
			created_at, updated_at)
		SELECT ?, id, channel, 0, TRUE, ?, ?, ?, ?, ?, 'draft', TRUE, 'open', ?, ? FROM conversations WHERE id = ? RETURNING id`
	setDraft     = `UPDATE turns SET draft_id = ? WHERE id = ?`
	setDraftBody = `UPDATE deliveries SET text = ?, rich = ?, extra = ?, updated_at = ? WHERE id = ? AND state = 'draft'`
	draftColumns = `
		SELECT d.id AS delivery, m.turn_id AS turn, d.text AS "body.text", d.rich, d.extra, d.reply_to, d.platform_id, d.fence, d.updated_at AS since, d.nonce,
			d.noted, d.first_try, CASE WHEN d.draft = 'begun' AND d.state <> 'draft' THEN 'doubt' ELSE d.draft END AS stage,
			` + sessions.Columns + `
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id `
	// What a message left for doubtful is to be taken back like a draft. Where nobody can look it up it
	// stays doubtful, and is not listed for ever.
	listDrafts = draftColumns + `
		WHERE d.channel = ? AND d.draft <> '' AND (d.state = 'draft' OR d.draft = 'leave' OR d.updated_at > ?) ORDER BY d.id`
	oneDoubtful = draftColumns + `WHERE d.id = ? AND d.draft = 'begun'`
	// takeDoubtful waits for parts that may be shown where it is not known.
	takeDoubtful = `
		UPDATE deliveries SET fence = ? WHERE id = ? AND draft = 'begun' AND NOT EXISTS (
			SELECT 1 FROM deliveries o WHERE o.channel = deliveries.channel AND o.conversation_id = deliveries.conversation_id
				AND o.settled = FALSE AND o.state <> 'pending')`
	draftStage = `SELECT conversation_id, channel, platform_id, draft, fence, nonce, first_try FROM deliveries WHERE id = ? AND state = 'draft'`
	// beginDraft is conditional, for a message may take the draft's place just now.
	beginDraft = `
		UPDATE deliveries SET draft = 'begun', fence = ?, noted = ?, first_try = ?, updated_at = ?
		WHERE id = ? AND state = 'draft' AND draft = 'open'`
	// recordDraft asks for no lease but the mark of who began: where a message stands is
	// true whoever holds the channel now.
	recordDraft = `
		UPDATE deliveries SET platform_id = ?, noted = '', first_try = 0, updated_at = ?,
			draft = CASE WHEN state = 'draft' THEN ? WHEN ? = '' THEN '' ELSE 'leave' END,
			outcome = CASE WHEN state = 'dropped' THEN 'not_needed' ELSE outcome END
		WHERE id = ? AND draft = 'begun' AND fence = ? RETURNING draft`
	abandonShown = `
		INSERT INTO deliveries (message_id, conversation_id, channel, part, last, text, nonce, state, settled, outcome, platform_id, draft,
			created_at, updated_at)
		SELECT message_id, conversation_id, channel, part, last, '', ?, 'dropped', TRUE, 'in_doubt', platform_id, 'leave', ?, ?
		FROM deliveries WHERE id = ? AND state = 'sending' AND platform_id <> '' RETURNING id`
	sendAgain    = `UPDATE deliveries SET platform_id = '', updated_at = ? WHERE id = ?`
	takenBack    = `UPDATE deliveries SET draft = '', outcome = ?, updated_at = ? WHERE id = ? AND draft = 'leave'`
	draftMessage = `SELECT message_id FROM deliveries WHERE id = ? AND state = 'draft'`
	// draftTaken leaves alone what was begun and is nowhere known to be shown: the call
	// may yet end, and show the draft beside the message.
	draftTaken = `
		UPDATE deliveries SET message_id = ?, seq = ?, part = 0, last = ?, text = ?, rich = ?, extra = ?, reply_to = ?,
			state = ?, settled = ?, draft = '', fence = 0, created_at = ?, updated_at = ?
		WHERE id = ? AND state = 'draft' AND draft <> 'begun'`
	deleteMessage = `DELETE FROM messages WHERE id = ?`
	// LeaveDraft has a turn forget its draft.
	LeaveDraft = `UPDATE turns SET draft_id = NULL WHERE id = ? AND draft_id = ?`
	// DropDraft is also sb_drop_draft. One that was begun stays so: if its ID comes to
	// be known it is taken back, and else it is left.
	DropDraft = `
		UPDATE deliveries SET state = 'dropped', outcome = CASE draft WHEN 'begun' THEN 'left' ELSE 'not_needed' END,
			draft = CASE draft WHEN 'begun' THEN 'begun' WHEN 'shown' THEN 'leave' ELSE '' END, updated_at = ?
		WHERE id = ? AND state = 'draft'`
)

// Draft commits an empty message of the turn with one delivery in state draft, which blocks nothing, and
// returns it; of a draft that is open it sets the body.
func (r *Store) Draft(ctx context.Context, ref core.TurnRef, to channels.MessageID, body channels.Body) (int64, error) {
	return database.Write(ctx, r.DB, database.Async, "write draft", func(t *database.Tx) (delivery int64, err error) {
		conversation, err := sessions.Holding(t, ref)
		if err != nil {
			return 0, err
		}
		text, rich, extra := database.Clean(body.Text), richText(body.Rich), extraText(&body)
		if found, err := t.Row(openDraft, []any{ref.TurnID}, &delivery); err != nil {
			return 0, err
		} else if found {
			return delivery, t.Do(setDraftBody, text, rich, extra, t.Now, delivery)
		}
		message, err := t.Insert(insertDraftMessage, conversation, ref.SessionID, ref.TurnID, botAuthor, t.Now)
		if err != nil {
			return 0, err
		}
		delivery, err = t.Insert(insertDraft, message, text, rich, extra, to, rand.Text(), t.Now, t.Now, conversation)
		if err == nil {
			err = t.Do(setDraft, delivery, ref.TurnID)
		}
		return delivery, err
	})
}

// Drafts lists the channel's open drafts, and those to be taken back; also those that became doubtful within
// the last hour.
func (r *Store) Drafts(ctx context.Context, channel string) ([]outbox.Draft, error) {
	return database.Look(ctx, r.DB, "list drafts", func(t *database.Tx) ([]outbox.Draft, error) {
		return drafts(t, listDrafts, database.Clean(channel), t.Now-doubtAtMost.Microseconds())
	})
}

// doubtAtMost is how long a doubtful draft is listed.
const doubtAtMost = time.Hour

func drafts(t *database.Tx, query string, args ...any) ([]outbox.Draft, error) {
	type row struct {
		outbox.Draft
		Noted       string
		Rich, Extra *string
	}
	rows, err := database.Select[row](t, query, args...)
	if err != nil {
		return nil, err
	}
	var list []outbox.Draft
	for i := range rows {
		row := &rows[i]
		row.Nonce = draftNonce(row.Nonce)
		if row.Noted != "" {
			err = json.Unmarshal([]byte(row.Noted), &row.First)
		}
		if err := errors.Join(err, readBody(&row.Body, row.Rich, row.Extra)); err != nil {
			return nil, err
		}
		list = append(list, row.Draft)
	}
	return list, nil
}

// ResumeDraft hands over a draft whose first call began and is not known to have ended, be it needed or not: it
// is as if this hold had begun it.
func (r *Store) ResumeDraft(ctx context.Context, hold outbox.Lease, delivery int64) (outbox.Draft, error) {
	return database.Write(ctx, r.DB, database.Async, "look into a draft", func(t *database.Tx) (d outbox.Draft, err error) {
		if err := fenced(t, hold); err != nil {
			return d, err
		}
		n, err := t.Exec(takeDoubtful, hold.Fence, delivery)
		if err != nil {
			return d, err
		}
		list, err := drafts(t, oneDoubtful, delivery)
		if err != nil || n == 0 || len(list) == 0 {
			return d, errors.Join(err, fmt.Errorf("draft %d: %w", delivery, core.ErrConflict))
		}
		return list[0], nil
	})
}

// BeginDraft notes that the first call about a draft begins, and what it shows, unless it is shown already;
// its platform ID says where, if it is. ready is false while something said before is on its way in the
// conversation.
func (r *Store) BeginDraft(ctx context.Context, hold outbox.Lease, delivery int64, first channels.Body) (d outbox.Draft, ready bool, err error) {
	err = r.held(ctx, database.Async, "begin draft", hold, func(t *database.Tx) error {
		d, ready = outbox.Draft{}, false
		var conversation, fence int64
		var channel, nonce string
		var stage outbox.DraftStage
		found, err := t.Row(draftStage, []any{delivery}, &conversation, &channel, &d.PlatformID, &stage, &fence, &nonce, &d.FirstTry)
		if err != nil {
			return err
		}
		d.Nonce = draftNonce(nonce)
		switch {
		case !found || stage == outbox.DraftBegun && fence != hold.Fence:
			return fmt.Errorf("draft %d: %w", delivery, core.ErrConflict)
		case stage == outbox.DraftBegun, stage == outbox.DraftShown: // begun by us: the answer to this was lost
			ready = true
			return nil
		}
		if open, err := t.Has(anyOpen, channel, conversation); err != nil || open {
			return err
		}
		err = t.Change(fmt.Errorf("draft %d: %w", delivery, core.ErrConflict), beginDraft, hold.Fence, firstText(first), t.Now, t.Now, delivery)
		ready, d.FirstTry = err == nil, database.Instant(t.Now)
		return err
	})
	return d, ready && err == nil, err
}

// draftNonce is a draft's own: the part which takes its place may be sent again, beside it.
func draftNonce(nonce string) string { return "draft of " + nonce }

// firstText is the column noted of a draft: what is looked for if the first call has no answer.
func firstText(first channels.Body) string {
	if first.Text == "" {
		return ""
	}
	return database.JSONText(channels.Body{Text: database.Clean(first.Text), Rich: first.Rich})
}

// Drafted notes where a draft is shown that this hold began, even if the hold was lost meanwhile; with no id,
// that it surely is not.
func (r *Store) Drafted(ctx context.Context, hold outbox.Lease, delivery int64, id channels.MessageID) (late bool, err error) {
	err = r.Write(ctx, database.Result, "record draft", func(t *database.Tx) error {
		platform, stage := database.Clean(string(id)), outbox.DraftShown
		if platform == "" {
			stage = outbox.DraftOpen
		}
		var now string
		_, err := t.Row(recordDraft, []any{platform, t.Now, stage, platform, delivery, hold.Fence}, &now)
		late = outbox.DraftStage(now) == outbox.DraftLeave
		return err
	})
	return late && err == nil, err
}

// Abandon gives what is shown for a delivery that is being sent a row of its own, to be taken back: the
// delivery is sent again.
func (r *Store) Abandon(ctx context.Context, hold outbox.Lease, delivery int64) error {
	return r.held(ctx, database.Async, "abandon draft", hold, func(t *database.Tx) error {
		err := t.Must(fmt.Errorf("delivery %d is not being sent in a draft's place: %w", delivery, core.ErrConflict), abandonShown, []any{rand.Text(), t.Now, t.Now, delivery})
		if err == nil {
			err = t.Do(sendAgain, t.Now, delivery)
		}
		return err
	})
}

// EndDraft ends the story of a draft that was to be taken back; outcome says how.
func (r *Store) EndDraft(ctx context.Context, hold outbox.Lease, delivery int64, outcome string) error {
	return r.held(ctx, database.Async, "end draft", hold, func(t *database.Tx) error { return t.Do(takenBack, outcome, t.Now, delivery) })
}

// TakeDraft gives the draft's place to the first part of a message; took is false
// when there is none to give, and what is there is dropped.
func TakeDraft(t *database.Tx, turn, message, seq int64, r *outbox.Reply, state outbox.DeliveryState) (took bool, err error) {
	n, err := t.Exec(LeaveDraft, turn, r.Draft)
	if err != nil || n == 0 {
		return false, err
	}
	var former int64
	found, err := t.Row(draftMessage, []any{r.Draft}, &former)
	if err != nil || !found {
		return false, err
	}
	p := &r.Parts[0]
	n, err = t.Exec(draftTaken, message, seq, len(r.Parts) == 1, p.Text, richText(p.Rich), extraText(p), r.ReplyTo,
		state, r.Read, t.Now, t.Now, r.Draft)
	if err != nil {
		return false, err
	}
	if n == 0 {
		err = t.Do(DropDraft, t.Now, r.Draft)
		return false, err
	}
	return true, t.Do(deleteMessage, former)
}
