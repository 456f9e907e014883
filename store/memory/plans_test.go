package memory_test

import (
	"testing"

	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// What a message recalls costs the same however many facts somebody has.
func TestFrequentQueriesReadNoHistory(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, stored.FrequentQueries)
}
