package sessions

import (
	"context"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/store/database"
)

const (
	// A title that nobody set is how the conversation begins.
	infoColumns = `
		SELECT s.id, s.used_at AS used, s.key AS session, s.person, s.mode, s.model, s.next_event AS last_event, s.created_at, s.used_at, s.used_at = 0 AS deleted,
			CASE WHEN c.title <> '' THEN c.title ELSE coalesce((SELECT substr(m.text, 1, 200) FROM messages m
				WHERE m.session_id = s.id AND m.id > s.reset_message AND m.direction = 'in' AND m.class = 'turn' ORDER BY m.id LIMIT 1), '') END AS title,
			coalesce((SELECT min(n) FROM events e WHERE e.session_id = s.id), s.next_event + 1) AS first_event
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id `
	oneInfo = infoColumns + `WHERE s.key = ?`
	posted  = `
		SELECT m.id, coalesce(m.turn_id, 0), coalesce(e.n, 0) FROM conversations c JOIN messages m ON m.conversation_id = c.id
		LEFT JOIN events e ON e.message_id = m.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND substr(m.platform_id, 1, ?) = ? AND m.platform_id <> ''
		ORDER BY m.id DESC LIMIT 1`
)

type infoRow struct {
	sessions.Info
	ID, Used int64
}

// titleLong is how long a title of the first words is at most, in characters.
const titleLong = 60

func (r *infoRow) view() sessions.Info {
	r.Title = words.OneLine(words.Visible(r.Title), titleLong)
	return r.Info
}

// SessionInfo is what is known of the session with that key; ErrNotFound.
func (r *Store) SessionInfo(ctx context.Context, key string) (info sessions.Info, err error) {
	err = r.Read(ctx, "read a session", func(t *database.Tx) error {
		row, err := database.First[infoRow](t, oneInfo, database.Clean(key))
		if err == nil && row == nil {
			return fmt.Errorf("session: %w", core.ErrNotFound)
		} else if err == nil {
			info = row.view()
		}
		return err
	})
	return info, err
}

// Posted is the newest message in a conversation whose ID of the platform begins so. ErrNotFound.
func (r *Store) Posted(ctx context.Context, conv channels.Conversation, prefix string) (receipt channels.Receipt, err error) {
	conv = CleanConversation(conv)
	err = r.Read(ctx, "look for a message", func(t *database.Tx) error {
		found, err := t.Row(posted, []any{conv.Channel, string(conv.ID), len(prefix) + 1, prefix + "."}, &receipt.MessageID, &receipt.TurnID, &receipt.Event)
		if err == nil && !found {
			return fmt.Errorf("message: %w", core.ErrNotFound)
		}
		return err
	})
	return receipt, err
}

// Of is the condition that a column names one of those of whom something is listed.
func Of(column string, whose sessions.Whose) (condition string, args []any) {
	switch marks, people := database.In(whose.People); {
	case whose.All:
		return "TRUE", nil
	case len(whose.People) > 0:
		return column + " IN (" + marks + ")", people
	}
	return column + " IN (SELECT name FROM people WHERE role = 'user')", nil
}

// Sessions lists those that were used last first; next is where the page ends, nil: there are no more.
func (r *Store) Sessions(ctx context.Context, q sessions.Query) (list []sessions.Info, next *sessions.Mark, err error) {
	where, args := "WHERE s.used_at > 0", []any{}
	and := func(condition string, values ...any) {
		where += " AND " + condition
		args = append(args, values...)
	}
	if q.Channel != "" {
		and("c.channel = ?", database.Clean(q.Channel))
	}
	condition, people := Of("s.person", q.Whose)
	and(condition, people...)
	if q.Text != "" {
		like := "%" + database.LikeText(strings.ToLower(database.Clean(q.Text))) + "%"
		and("(lower(c.title) LIKE ? ESCAPE '!' OR EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.id > s.reset_message AND lower(m.text) LIKE ? ESCAPE '!'))", like, like)
	}
	if q.Before != (sessions.Mark{}) {
		and("(s.used_at, s.id) < (?, ?)", q.Before.UsedAt, q.Before.ID)
	}
	query := infoColumns + where + " ORDER BY s.used_at DESC, s.id DESC LIMIT ?"
	rows, err := database.List[infoRow](ctx, r.DB, "list sessions", query, append(args, q.Limit+1)...)
	if err != nil {
		return nil, nil, err
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		next = &sessions.Mark{UsedAt: rows[q.Limit-1].Used, ID: rows[q.Limit-1].ID}
	}
	list = []sessions.Info{}
	for i := range rows {
		list = append(list, rows[i].view())
	}
	return list, next, nil
}
