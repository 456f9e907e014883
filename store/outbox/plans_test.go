package outbox_test

import (
	"testing"

	"switchboard/store/outbox"
	"switchboard/store/storetest"
)

// What every message asks must not become slower with the years of history that
// stand behind it: SQLite finds it by an index of what is open, or by a key.
func TestFrequentQueriesReadNoHistory(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, outbox.FrequentQueries)
}

// What engines look for again and again they find without reading what is there for
// others, however much that is: on PostgreSQL the rows read are counted.
func TestPollsReadWhatTheyFind(t *testing.T) {
	t.Parallel()
	storetest.WantFewRows(t, map[string]string{
		"open conversations": storetest.Literal(outbox.OpenConversations, "'tg'", "'tg'"),
		"admins' chats":      outbox.AdminChats,
	})
}
