package store

import (
	"context"
	"fmt"
	"strings"

	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/turns"
)

// Looks are what engines ask for again and again, as PostgreSQL is asked, with numbers
// and names for parameters.
func Looks() map[string]string {
	return map[string]string{
		"claim":              `SELECT count(*) FROM sb_claimable(1, '["tg"]', '[]', 9000000000000000, 5)`,
		"open conversations": literal(outbox.Queries()["openConversations"], "'tg'", "'tg'"),
		"admins' chats":      outbox.Queries()["adminChats"],
		"held sessions":      literal(turns.Queries()["heldSessions"], "10", "10", "1"),
		"facts":              literal(turns.Queries()["loadMemories"], "'eve'", "1"),
	}
}

func literal(query string, args ...string) string {
	for _, arg := range args {
		query = strings.Replace(query, "?", arg, 1)
	}
	return query
}

// RowsRead is how many rows of tables PostgreSQL read for a query, in all.
func (db *DB) RowsRead(ctx context.Context, query string) (rows int64, err error) {
	err = db.Write(ctx, database.Async, "count rows read", func(t *database.Tx) error {
		const read = `SELECT CAST(coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) AS bigint) FROM pg_stat_xact_user_tables`
		var before, after int64
		if _, err := t.Row(read, nil, &before); err != nil {
			return err
		}
		r, err := t.Q.Query(query)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		for r.Next() {
		}
		if err := r.Close(); err != nil {
			return err
		}
		_, err = t.Row(read, nil, &after)
		rows = after - before
		return err
	})
	return rows, err
}
