// Package crash_test kills the program, one engine and two, at any instant, and takes its database away: nothing
// that was accepted is lost and nothing is done twice.
package crash_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
