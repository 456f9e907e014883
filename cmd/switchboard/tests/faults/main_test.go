// Package faults_test has everything around the program fail: the model, the platforms, the disk, the commands
// it runs, one of two engines; and it asks too much of it.
package faults_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
