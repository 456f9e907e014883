package people

import (
	"context"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// labels are what those whom an open channel let in call themselves, where their platform says it of a direct chat.
const labels = `
	SELECT p.name, c.title FROM people p JOIN sessions s ON s.person = p.name JOIN conversations c ON c.id = s.conversation_id
	WHERE p.source = '` + core.FromOpen + `' AND c.kind = 'direct' AND c.title <> '' AND %s ORDER BY s.id`

const authorOf = `SELECT author FROM messages WHERE conversation_id = ? AND platform_id = ? AND platform_id <> '' AND direction = 'in' ORDER BY id DESC LIMIT 1`

// Author is what who wrote a message calls themselves; empty: it is not known.
func (r *Store) Author(ctx context.Context, conv channels.Conversation, id channels.MessageID) (author string, err error) {
	err = r.Read(ctx, "read who wrote a message", func(t *database.Tx) error {
		place, found, err := sessions.FindPlace(t, sessions.CleanConversation(conv))
		if err == nil && found {
			_, err = t.Row(authorOf, []any{place.Id, id}, &author)
		}
		return err
	})
	return author, err
}

// Labels are what those of these people call themselves whom an open channel let in, by their names.
func (r *Store) Labels(ctx context.Context, names []string) (map[string]string, error) {
	marks, args := database.In(names)
	return r.labelled(ctx, fmt.Sprintf("p.name IN (%s)", marks), args)
}

// LabelledSo are those of them who call themselves so, in any case of letters.
func (r *Store) LabelledSo(ctx context.Context, label string) (map[string]string, error) {
	return r.labelled(ctx, "lower(c.title) = ?", []any{strings.ToLower(label)})
}

func (r *Store) labelled(ctx context.Context, which string, args []any) (map[string]string, error) {
	type row struct{ Name, Title string }
	rows, err := database.List[row](ctx, r.DB, "read what people call themselves", fmt.Sprintf(labels, which), args...)
	of := map[string]string{}
	for _, row := range rows {
		of[row.Name] = row.Title
	}
	return of, err
}
