package store

import (
	"log/slog"
	"strings"
	"testing"

	"switchboard/store/database"
	"switchboard/store/turns"
)

// A session's head is looked up at every message; it must not read the turns
// that have ended, however many there are.
func TestHeadReadsOpenTurnsOnly(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), database.Config{}, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id, parent, unused int
	var plan string
	err = db.Read(t.Context(), "explain", func(t *database.Tx) error {
		_, err := t.Row("EXPLAIN QUERY PLAN "+turns.Queries()["headTurn"], []any{1}, &id, &parent, &unused, &plan)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "turns_open") {
		t.Errorf("the head is found by %q", plan)
	}
}
