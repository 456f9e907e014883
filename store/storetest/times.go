package storetest

import (
	"flag"
	"os"
	"strconv"
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

// AtOnce sets how many tests run at once, for a TestMain whose tests mostly wait, unless
// -parallel says it.
func AtOnce(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
