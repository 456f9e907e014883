package crash_test

import (
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// Every connection to the database stands still for good, and new ones are answered:
// an engine that waits for its old connections would wait until they time out.
func TestDatabaseConnectionsStrandedAreReplaced(t *testing.T) {
	t.Parallel()
	var ways [2]*storetest.Proxy
	o := newOutage(t, &ways[0], &ways[1])
	o.load(10, time.Second)
	ways[0].Strand()
	ways[1].Strand()
	began := time.Now()
	o.load(10, time.Second)
	o.settle()
	t.Logf("all is answered after %s", time.Since(began).Round(10*time.Millisecond))
	testkit.Within(t, time.Since(began), 3*time.Minute) // the old connections end after many
	o.check()
	for _, m := range o.fleet.Engines {
		m.MustLive()
	}
	o.fleet.Stop()
}
