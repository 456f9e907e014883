package storetest

import (
	"slices"
	"testing"
)

func TestOrphansAreFound(t *testing.T) {
	t.Parallel()
	address := PostgresURL(t)
	if found, err := orphans(address); err != nil || found != nil {
		t.Errorf("before the migrations: %v %v", found, err)
	}
	if err := migrate(address); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO events (session_id, n, kind, created_at) VALUES (7, 1, 'turn', 1), (7, 2, 'turn', 1)",
		"INSERT INTO tasks (turn_id, attempt, position, type, detail, state, created_at) VALUES (7, 0, 0, 'msg', '', 'done', 1)",
		"INSERT INTO leases (kind, name, owner, fence, taken_at) VALUES ('run', 'none', NULL, 1, 1)",
	} {
		if err := admin(address, statement); err != nil {
			t.Fatal(err)
		}
	}
	found, err := orphans(address)
	if want := []string{"2 of events name rows of sessions", "1 of tasks name rows of plans"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %v %v", found, err)
	}
	if err := admin(address, "DELETE FROM events; DELETE FROM tasks"); err != nil {
		t.Fatal(err)
	}
}
