// Package admin_test runs a bot as its admins do, on the command line and in the chat: settings, secrets, people,
// backups, the database, money, jobs.
package admin_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
