// Package chat_test talks to the program: on a terminal, in a pipe, in a browser; and it looks at what models are
// told and do.
package chat_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
