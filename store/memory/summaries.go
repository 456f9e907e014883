package memory

import (
	"context"
	"strings"

	"switchboard/agent/memory"
	routermemory "switchboard/router/memory"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	// summariesOf are those of sessions, with the scope in which each is found. A private session's is seen nowhere.
	summariesOf = `
		SELECT m.id, m.session, m.person, m.text, m.taint, m.used_at, m.scope FROM (SELECT s.id, s.key AS session, s.person, s.summary AS text, s.summary_taint AS taint, s.used_at,
			s.private, CASE WHEN c.kind = 'direct' THEN 'person:' || s.person ELSE 'group:' || c.channel || ':' || c.place END AS scope
			FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.summary <> '') m WHERE `
	noSummary = `UPDATE sessions SET summary = '', summary_taint = '' WHERE id = ?`
)

// Summaries implements routermemory.Store.
func (s *Store) Summaries(ctx context.Context, f routermemory.Filter) ([]routermemory.Summary, error) {
	return database.Read(ctx, s.DB, "list summaries", func(t *database.Tx) ([]routermemory.Summary, error) { return summaries(t, &f, "m.private = ''") })
}

// summaries are those of which a condition holds too.
func summaries(t *database.Tx, f *routermemory.Filter, which string) ([]routermemory.Summary, error) {
	where, args := among([]string{which}, nil, "m.scope", f.Scopes)
	if f.Person != "" {
		where, args = append(where, "m.person = ?"), append(args, database.Clean(f.Person))
	}
	return database.Select[routermemory.Summary](t, summariesOf+strings.Join(where, " AND ")+" ORDER BY m.used_at DESC, m.id DESC LIMIT ?", append(args, f.Limit)...)
}

// forgetSummaries drops those of c.Of. What is summed up at the moment, and has read one, is not written.
func forgetSummaries(t *database.Tx, c *routermemory.Change) (a audit.Entry, err error) {
	if err := void(t, c.Of); err != nil {
		return a, err
	}
	if c.Dropped, err = summaries(t, &routermemory.Filter{Scopes: c.Of, Limit: routermemory.MaxExport}, "1 = 1"); err != nil {
		return a, err
	}
	for _, one := range c.Dropped {
		if err := t.Do(noSummary, one.ID); err != nil {
			return a, err
		}
		if err := Unindex(t, memory.OfSummary, one.ID); err != nil {
			return a, err
		}
	}
	a.Outcome, a.Data = "done", map[string]any{"summaries": len(c.Dropped)}
	return a, nil
}
