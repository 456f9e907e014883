package main

import (
	"testing"

	"switchboard/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, 4, testkit.ClosingConnections) }
