package store_test

import (
	"testing"

	"switchboard/store"
	"switchboard/store/storetest"
)

// What every message asks must not become slower with the years of history that
// stand behind it: SQLite finds it by an index of what is open, or by a key.
func TestFrequentQueriesReadNoHistory(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, store.FrequentQueries())
}
