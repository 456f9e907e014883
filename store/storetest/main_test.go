package storetest_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// database/sql closes connections in the background.
		goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
}
