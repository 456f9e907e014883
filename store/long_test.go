package store_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"switchboard/store/storetest"
)

// longTurns is how long a session's past is: enough to show a scan, or what the
// environment says.
func longTurns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SWITCHBOARD_TEST_TURNS")
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SWITCHBOARD_TEST_TURNS: %v", err)
	}
	return n
}

// age gives a session n turns that were answered, as message writes them.
func (h *house) age(conversation string, n int) {
	h.Helper()
	count := func(query string) int64 {
		got, err := storetest.Count(context.Background(), h.DB, query)
		if err != nil {
			h.Fatal(err)
		}
		return got
	}
	conv := count(fmt.Sprintf("SELECT id FROM conversations WHERE conversation = '%s'", conversation))
	session := count(fmt.Sprintf("SELECT id FROM sessions WHERE conversation_id = %d", conv))
	m, turn := count("SELECT max(id) FROM messages"), count("SELECT max(id) FROM turns")
	seq, event := count(fmt.Sprintf("SELECT next_seq FROM conversations WHERE id = %d", conv)), count(fmt.Sprintf("SELECT next_event FROM sessions WHERE id = %d", session))
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n)
	statements := []string{
		"INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, origin, person, author, platform_id, text, created_at) " + numbers +
			fmt.Sprintf("SELECT %d + 2 * i, %d, %d, %d + i, 'in', 'turn', 'chat', 'marco', 'marco', 'p' || i, 'what time is it?', i FROM n", m, conv, session, turn),
		"INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, author, text, final, created_at) " + numbers +
			fmt.Sprintf("SELECT %d + 2 * i + 1, %d, %d, %d + i, 'out', 'say', 'Switchboard', 'It is late.', TRUE, i FROM n", m, conv, session, turn),
		"INSERT INTO turns (id, session_id, message_id, person, state, outcome, calls, created_at, started_at, finished_at) " + numbers +
			fmt.Sprintf("SELECT %d + i, %d, %d + 2 * i, 'marco', 'done', 'answered', 1, i, i, i FROM n", turn, session, m),
		"INSERT INTO plans (turn_id, attempt, goal, created_at) " + numbers + fmt.Sprintf("SELECT %d + i, 0, 'answer', i FROM n", turn),
		"INSERT INTO tasks (turn_id, attempt, position, type, detail, state, created_at) " + numbers +
			fmt.Sprintf("SELECT %d + i, 0, 0, 'msg', 'answer', 'done', i FROM n", turn),
		"INSERT INTO deliveries (message_id, conversation_id, channel, seq, part, last, text, nonce, state, settled, platform_id, created_at, updated_at) " + numbers +
			fmt.Sprintf("SELECT %d + 2 * i + 1, %d, 'tg', %d + i, 0, TRUE, 'It is late.', 'n' || i, 'sent', TRUE, 'q' || i, i, i FROM n", m, conv, seq),
		"INSERT INTO events (session_id, n, kind, turn_id, data, created_at) " + numbers +
			fmt.Sprintf("SELECT %d, %d + i, 'turn', %d + i / 4, '', i FROM n", session, event, turn),
		fmt.Sprintf("UPDATE conversations SET next_seq = next_seq + %d WHERE id = %d", n, conv),
		fmt.Sprintf("UPDATE sessions SET next_event = next_event + %d WHERE id = %d", n, session),
	}
	if h.DB.Kind() == "postgres" {
		statements = append(statements,
			"UPDATE owners SET pid = pid + 0*setval('messages_id_seq', (SELECT max(id) FROM messages)) + 0*setval('turns_id_seq', (SELECT max(id) FROM turns))")
	}
	storetest.Exec(h, h.DB, statements...)
}
