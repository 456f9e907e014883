package store_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/storetest"
)

// longPast is the variable that says how many turns a session has behind it.
const longPast = "SWITCHBOARD_TEST_TURNS"

// longTurns is how long a session's past is: enough to show a scan, or what the
// environment says.
func longTurns(t *testing.T) int {
	t.Helper()
	text := os.Getenv(longPast)
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", longPast, err)
	}
	return n
}

// The 100,000th turn of a session is as fast as its 100th.
func TestLongSessionStaysFast(t *testing.T) {
	if os.Getenv(longPast) == "" {
		t.Skip("a figure, which depends on what else the machine does: make long measures it")
	}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.Hold()
		for i, name := range []string{"young", "old"} {
			if err := h.message(hold, name, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		h.age("young", 100)
		for left := longTurns(t); left > 0; left -= 5000 { // no statement may take long
			h.age("old", min(left, 5000))
		}
		took := map[string][]time.Duration{}
		for i := range 60 { // in alternation: both meet the same moments
			if db.Kind() == "postgres" {
				h.Renew()
			}
			for j := range 2 {
				name := []string{"young", "old"}[(i+j)%2]
				began := time.Now()
				if err := h.message(hold, name, int64(10*(i+1)+len(name))); err != nil {
					t.Fatal(err)
				}
				took[name] = append(took[name], time.Since(began))
			}
		}
		young, old := quick(took["young"]), quick(took["old"])
		t.Logf("%s: %s in a session of 100 turns, %s in one of %d", db.Kind(), young, old, longTurns(t))
		if old > young*3/2+300*time.Microsecond {
			t.Errorf("a turn takes %s after %d others, and %s after 100", old, longTurns(t), young)
		}
	})
}

// quick is what a quarter of them took at most: what else the machine does then shows less than in the middle.
func quick(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/4]
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
