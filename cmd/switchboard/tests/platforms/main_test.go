// Package platforms_test has people meet the program on each platform, over its stand-in: conversations,
// buttons, commands, approvals, reminders.
package platforms_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
