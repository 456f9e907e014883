package files

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store/database"
)

const (
	addUpload = `
		INSERT INTO attachments (uploader, kind, name, type, size, state, reason, blob, created_at, used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	anyAttachment = `
		SELECT a.id, coalesce(c.channel, '') AS channel, a.platform_id, a.kind, a.name, a.type, a.size, a.state, a.reason, a.blob, a.taint,
			coalesce(s.key, '') AS session, a.uploader
		FROM attachments a LEFT JOIN sessions s ON s.id = a.session_id LEFT JOIN conversations c ON c.id = s.conversation_id WHERE a.id = ?`
	cameWith = `SELECT id, message_id, name, type, size, state FROM attachments WHERE message_id IN (%s) ORDER BY message_id, position`
	linkedBy = `
		SELECT a.id, m.id AS message_id, a.name, a.type, a.size, a.state
		FROM messages m JOIN attachments a ON a.session_id = m.session_id WHERE m.id = ? AND a.id = ?`
)

// AddUpload stores a file that comes before its message, and its ID in a.
func (r *Store) AddUpload(ctx context.Context, uploader string, a *files.Attachment) error {
	id, err := database.Write(ctx, r.DB, database.Async, "add upload", func(t *database.Tx) (int64, error) {
		return t.Insert(addUpload, uploader, a.Kind, a.Name, a.Type, a.Size, a.State, a.Reason, a.Blob, t.Now, t.Now)
	})
	if err == nil {
		a.ID = id
	}
	return err
}

// Found reads an attachment whoever's it is. ErrNotFound.
func (r *Store) Found(ctx context.Context, id int64) (*files.Found, error) {
	return database.Read(ctx, r.DB, "find a file", func(t *database.Tx) (*files.Found, error) {
		f, err := database.First[files.Found](t, anyAttachment, id)
		if err == nil && f == nil {
			err = fmt.Errorf("attachment %d: %w", id, core.ErrNotFound)
		}
		return f, err
	})
}

// link is how a text names a file of its session; mostLinks is how many of one text are looked up.
var link = regexp.MustCompile(`\]\(attachment:(\d{1,18})\)`)

const mostLinks = 20

// OfMessages lists the files of messages, by message: those that came with one, and those to which the text of one links.
// Texts are the messages' by their numbers.
func OfMessages(t *database.Tx, texts map[int64]string) (map[int64][]channels.SessionFile, error) {
	type row struct {
		channels.SessionFile
		MessageID int64
	}
	list := map[int64][]channels.SessionFile{}
	if len(texts) == 0 {
		return list, nil
	}
	marks, args := database.In(slices.Collect(maps.Keys(texts)))
	rows, err := database.Select[row](t, fmt.Sprintf(cameWith, marks), args...)
	if err != nil {
		return nil, err
	}
	for message, text := range texts {
		seen := map[string]bool{}
		for _, m := range link.FindAllStringSubmatch(text, mostLinks) {
			if seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			id, _ := strconv.ParseInt(m[1], 10, 64) // it fits
			linked, err := database.Select[row](t, linkedBy, message, id)
			if err != nil {
				return nil, err
			}
			rows = append(rows, linked...)
		}
	}
	for _, r := range rows {
		if slices.Contains(list[r.MessageID], r.SessionFile) { // it came and is linked
			continue
		}
		list[r.MessageID] = append(list[r.MessageID], r.SessionFile)
	}
	return list, nil
}
