// Package setup_test sets the program up as people do: init, dev, doctor, help, completion, the container.
package setup_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
