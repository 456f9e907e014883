package storetest

import (
	"os"
	"testing"
	"time"
)

// Soon logs how long something took. That it took no longer than most is held only
// where SWITCHBOARD_TEST_TIMES is set (make long, docs/mutate): on a busy machine it
// says nothing about the program.
func Soon(t testing.TB, took, most time.Duration) {
	t.Helper()
	if took > most && os.Getenv("SWITCHBOARD_TEST_TIMES") != "" {
		t.Errorf("it took %s, and may take %s", took, most)
		return
	}
	t.Logf("it took %s", took.Round(time.Millisecond))
}
