package store

import (
	"log/slog"
	"strings"
	"testing"
)

// A session's head is looked up at every message; it must not read the turns
// that have ended, however many there are.
func TestHeadReadsOpenTurnsOnly(t *testing.T) {
	t.Parallel()
	s, err := openSQLite(t.Context(), t.TempDir()+"/switchboard.db")
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{lite: s, log: slog.New(slog.DiscardHandler)}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id, parent, unused int
	var plan string
	row := s.pool.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+headTurn, 1)
	if err := row.Scan(&id, &parent, &unused, &plan); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "turns_open") {
		t.Errorf("the head is found by %q", plan)
	}
}
