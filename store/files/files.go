// Package files has the rows of attachments.
package files

import (
	"context"
	"fmt"
	"time"

	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store/blobs"
	"switchboard/store/database"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const (
	// sessionByKey also finds one whose conversation moved while its turn ran.
	sessionByKey = `
		SELECT coalesce((SELECT id FROM sessions WHERE key = ?), (SELECT x.id FROM moved v
			JOIN sessions x ON x.conversation_id = v.conversation_id WHERE v.channel || ':' || v.former = ?))`
	oneAttachment = `
		SELECT a.id, c.channel, a.platform_id, a.kind, a.name, a.type, a.size, a.state, a.reason, a.blob, a.taint
		FROM attachments a JOIN sessions s ON s.id = a.session_id JOIN conversations c ON c.id = s.conversation_id
		WHERE s.id = (` + sessionByKey + `) AND a.id = ?`
	// setAttachment: what was erased while it was fetched stays so.
	setAttachment = `
		UPDATE attachments SET state = ?, reason = ?, blob = ?, type = ?, size = ?, used_at = ? WHERE id = ? AND state <> 'gone'`
	addAttachment = `
		INSERT INTO attachments (session_id, kind, name, type, size, state, reason, blob, taint, created_at, used_at)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = (` + sessionByKey + `) RETURNING id`
	oldAttachments = `
		SELECT id, blob FROM attachments WHERE used_at < ? AND state <> 'gone' ORDER BY used_at LIMIT ?`
	unusedUploads = `
		SELECT id, blob FROM attachments WHERE uploader <> '' AND message_id IS NULL AND state <> 'gone' AND used_at < ? ORDER BY used_at LIMIT ?`
	forgetAttachment = `UPDATE attachments SET state = 'gone', blob = '' WHERE id = ?`
	blobUsed         = `SELECT 1 FROM attachments WHERE blob = ? AND blob <> '' AND state <> 'gone' LIMIT 1`
	blobLeaving      = `SELECT 1 FROM deliveries WHERE settled = FALSE AND extra LIKE ? LIMIT 1`
)

// Attachment reads one that belongs to the session (key "channel:conversation").
func (r *Store) Attachment(ctx context.Context, session string, id int64) (*files.Attachment, error) {
	return database.Read(ctx, r.DB, "find attachment", func(t *database.Tx) (*files.Attachment, error) {
		a, err := database.First[files.Attachment](t, oneAttachment, session, session, id)
		if err == nil && a == nil {
			err = fmt.Errorf("attachment %d: %w", id, core.ErrNotFound)
		}
		return a, err
	})
}

// SetAttachment records state, blob, type and size.
func (r *Store) SetAttachment(ctx context.Context, a *files.Attachment) error {
	return r.Write(ctx, database.Async, "set attachment", func(t *database.Tx) error {
		return t.Change(fmt.Errorf("attachment %d: %w", a.ID, core.ErrNotFound), setAttachment, a.State, a.Reason, a.Blob, a.Type, a.Size, t.Now, a.ID)
	})
}

// AddAttachment stores one that the session made itself, and its ID in a. ErrNotFound: there is no such
// session.
func (r *Store) AddAttachment(ctx context.Context, session string, a *files.Attachment) error {
	var id int64
	err := r.Write(ctx, database.Async, "add attachment", func(t *database.Tx) error {
		return t.Must(fmt.Errorf("session %s: %w", session, core.ErrNotFound), addAttachment, []any{
			a.Kind, a.Name, a.Type, a.Size, a.State, a.Reason, a.Blob, a.Taint, t.Now, t.Now,
			session, session,
		}, &id)
	})
	if err == nil {
		a.ID = id
	}
	return err
}

// Forget marks attachments older than before as gone, at most limit of them.
func (r *Store) Forget(ctx context.Context, before time.Time, limit int) (blobs []string, marked int, err error) {
	return r.forget(ctx, oldAttachments, before, limit)
}

// ForgetUploads is Forget for uploads that came with no message.
func (r *Store) ForgetUploads(ctx context.Context, before time.Time, limit int) (blobs []string, marked int, err error) {
	return r.forget(ctx, unusedUploads, before, limit)
}

func (r *Store) forget(ctx context.Context, query string, before time.Time, limit int) (blobs []string, marked int, err error) {
	if limit <= 0 {
		return nil, 0, nil
	}
	err = r.Write(ctx, database.Async, "forget attachments", func(t *database.Tx) error {
		blobs = nil
		type attachment struct {
			ID   int64
			Blob string
		}
		old, err := database.Select[attachment](t, query, before, limit)
		if err != nil {
			return err
		}
		marked = len(old)
		had := map[string]bool{}
		for _, a := range old {
			if err := t.Do(forgetAttachment, a.ID); err != nil {
				return err
			}
			had[a.Blob] = a.Blob != ""
		}
		for _, a := range old { // in order, each once
			if !had[a.Blob] {
				continue
			}
			had[a.Blob] = false
			if used, err := referred(t, a.Blob); err != nil {
				return err
			} else if !used {
				blobs = append(blobs, a.Blob)
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return blobs, marked, nil
}

// Referred says whether any attachment or open delivery refers to blob.
func (r *Store) Referred(ctx context.Context, blob string) (bool, error) {
	return database.Read(ctx, r.DB, "look for references", func(t *database.Tx) (bool, error) { return referred(t, database.Clean(blob)) })
}

func referred(t *database.Tx, blob string) (bool, error) {
	if !blobs.Valid(blob) {
		return false, nil
	}
	if used, err := t.Has(blobUsed, blob); err != nil || used {
		return used, err
	}
	return t.Has(blobLeaving, "%"+database.JSONText(blob)+"%")
}
