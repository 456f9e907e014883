// Package web_test calls the program over HTTP, as other programs do.
package web_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
