package outbox_test

import (
	"testing"

	"switchboard/router/routertest"
)

func TestMain(m *testing.M) { routertest.Main(m) }

// A rig is the one that all tests of the router share, with what only these need.
type rig struct{ *routertest.Rig }

var (
	newRig = routertest.New[rig]
	each   = routertest.Each[rig]   // on both databases
	inTime = routertest.InTime[rig] // with a fake clock, over SQLite
	twins  = routertest.Twins[rig]  // on one PostgreSQL database and one platform
)
