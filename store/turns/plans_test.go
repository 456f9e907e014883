package turns_test

import (
	"testing"

	"switchboard/store/storetest"
	"switchboard/store/turns"
)

// What every message asks must not become slower with the years of history that
// stand behind it: SQLite finds it by an index of what is open, or by a key.
func TestFrequentQueriesReadNoHistory(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, turns.FrequentQueries)
}

// What engines look for again and again they find without reading what is there for
// others, however much that is: on PostgreSQL the rows read are counted.
func TestPollsReadWhatTheyFind(t *testing.T) {
	t.Parallel()
	storetest.WantFewRows(t, map[string]string{
		"claim":         `SELECT count(*) FROM sb_claimable(1, '["tg"]', '[]', 9000000000000000, 5)`,
		"held sessions": storetest.Literal(turns.HeldSessions, "10", "10", "1"),
	})
}
