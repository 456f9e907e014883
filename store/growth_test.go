package store_test

import (
	"fmt"
	"testing"

	"switchboard/agent"
	"switchboard/store"
	"switchboard/store/storetest"
)

// crowd adds strangers' conversations with a message each, and waiting turns of the person
// in as many conversations, by SQL.
func crowd(t testing.TB, db *store.DB, strangers, waiting int, person string) {
	t.Helper()
	const from = `WITH RECURSIVE x (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < %d) `
	const chunk = 20_000 // a transaction of ours is given up when it takes too long
	for done := 0; done < strangers; done += chunk {
		run(t, db,
			fmt.Sprintf(`INSERT INTO conversations (channel, conversation, kind, created_at) `+from+`SELECT 'tg', 's%d-' || i, 'direct', 1 FROM x`, min(chunk, strangers-done), done),
			fmt.Sprintf(`INSERT INTO messages (conversation_id, direction, class, platform_id, text, created_at)
				SELECT id, 'in', 'stranger', 'x', 'hello', 1 FROM conversations WHERE id > (SELECT max(id) FROM conversations) - %d`, min(chunk, strangers-done)))
	}
	run(t, db,
		fmt.Sprintf(`INSERT INTO conversations (channel, conversation, kind, created_at) `+from+`SELECT 'tg', 'w' || i, 'direct', 1 FROM x`, waiting),
		`INSERT INTO sessions (conversation_id, key, created_at) SELECT id, 'tg:' || conversation, 1 FROM conversations WHERE conversation LIKE 'w%'`,
		`INSERT INTO messages (conversation_id, session_id, direction, class, person, text, created_at)
			SELECT conversation_id, id, 'in', 'turn', '`+person+`', 'hello', 1 FROM sessions WHERE created_at = 1`,
		`INSERT INTO turns (session_id, message_id, person, state, created_at)
			SELECT session_id, id, person, 'queued', 1 FROM messages WHERE class = 'turn' AND created_at = 1`)
	if db.Kind() == "postgres" { // which does so by itself
		run(t, db, "ANALYZE")
	}
}

// What engines look for again and again they find without reading what is there for
// others, however much that is: on PostgreSQL the rows read are counted; the plans of
// SQLite are in TestFrequentQueriesReadNoHistory.
func TestLooksReadWhatTheyFind(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	h.one(entry("mine", "1", "hello"))
	h.Commit(h.Begun("sent", "2"), agent.Step{Say: []agent.Say{{Position: -1, Text: "a"}}, End: &agent.End{State: "done", Outcome: "answered"}}, *text("on its way"))
	run(t, h.DB, "INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('marco', 'admin', 'config', 1, 1)")
	crowd(t, h.DB, 20000, 20000, "eve") // a small table may be read whole
	for name, look := range store.Looks() {
		read, err := h.DB.RowsRead(h.Ctx, look)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if read > 300 {
			t.Errorf("%s reads %d rows", name, read)
		}
	}
}
