package storetest

import (
	"fmt"
	"testing"

	"switchboard/agent"
	"switchboard/store"
)

// Crowd adds strangers' conversations with a message each, and waiting turns of the person
// in as many conversations, by SQL.
func Crowd(t testing.TB, db *store.DB, strangers, waiting int, person string) {
	t.Helper()
	const from = `WITH RECURSIVE x (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < %d) `
	const chunk = 20_000 // a transaction of ours is given up when it takes too long
	for done := 0; done < strangers; done += chunk {
		Exec(t, db,
			fmt.Sprintf(`INSERT INTO conversations (channel, conversation, kind, created_at) `+from+`SELECT 'tg', 's%d-' || i, 'direct', 1 FROM x`, min(chunk, strangers-done), done),
			fmt.Sprintf(`INSERT INTO messages (conversation_id, direction, class, platform_id, text, created_at)
				SELECT id, 'in', 'stranger', 'x', 'hello', 1 FROM conversations WHERE id > (SELECT max(id) FROM conversations) - %d`, min(chunk, strangers-done)))
	}
	Exec(t, db,
		fmt.Sprintf(`INSERT INTO conversations (channel, conversation, kind, created_at) `+from+`SELECT 'tg', 'w' || i, 'direct', 1 FROM x`, waiting),
		`INSERT INTO sessions (conversation_id, key, created_at) SELECT id, 'tg:' || conversation, 1 FROM conversations WHERE conversation LIKE 'w%'`,
		`INSERT INTO messages (conversation_id, session_id, direction, class, person, text, created_at)
			SELECT conversation_id, id, 'in', 'turn', '`+person+`', 'hello', 1 FROM sessions WHERE created_at = 1`,
		`INSERT INTO turns (session_id, message_id, person, state, created_at)
			SELECT session_id, id, person, 'queued', 1 FROM messages WHERE class = 'turn' AND created_at = 1`)
	if db.Kind() == "postgres" { // which does so by itself
		Exec(t, db, "ANALYZE")
	}
}

// WantFewRows wants PostgreSQL to run the queries without reading the rows of a crowd.
func WantFewRows(t *testing.T, queries map[string]string) {
	t.Helper()
	h := NewHouse(t, Postgres(t))
	h.One(Entry("mine", "1", "hello"))
	h.Commit(h.Begun("sent", "2"), agent.Step{Say: []agent.Say{{Position: -1, Text: "a"}}, End: &agent.End{State: "done", Outcome: "answered"}}, *Text("on its way"))
	Exec(t, h.DB, "INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('marco', 'admin', 'config', 1, 1)")
	Crowd(t, h.DB, 20000, 20000, "eve") // a small table may be read whole
	for name, query := range queries {
		read, err := RowsRead(h.Ctx, h.DB, query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if read > 300 {
			t.Errorf("%s reads %d rows", name, read)
		}
	}
}
