package audit_test

import (
	"testing"

	"switchboard/router/routertest"
)

func TestMain(m *testing.M) { routertest.Main(m) }

// A rig is the one that all tests of the router share.
type rig struct{ *routertest.Rig }

var each = routertest.Each[rig] // on both databases
