package rendertest

import (
	"runtime"
	"testing"
	"time"
)

// tripwire is far above what any text takes, and far below what an unbounded one
// would.
const (
	tripwire    = 30 * time.Second
	memoryBound = 64 << 20
)

// Bounded fails the test when work takes long or allocates much. Such a test cannot
// run beside others: the heap is everybody's.
func Bounded(t *testing.T, work func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-time.After(slow * tripwire):
		t.Fatalf("not done after %s", slow*tripwire)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if slow == 1 && allocated > memoryBound {
		t.Errorf("allocated %d MB", allocated>>20)
	}
	t.Logf("%s, %d MB", took.Round(time.Millisecond), allocated>>20)
}
