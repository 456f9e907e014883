package approvals_test

import (
	"testing"

	"switchboard/router/routertest"
)

func TestMain(m *testing.M) { routertest.Main(m) }

// A rig is the one that all tests of the router share, with what only these need.
type rig struct{ *routertest.Rig }

// each runs f on both databases.
func each(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	routertest.Each(t, func(t *testing.T, r *routertest.Rig) { f(t, &rig{r}) })
}

// twins are two rigs on one PostgreSQL database and one platform.
func twins(t *testing.T) (a, b *rig) {
	t.Helper()
	one, other := routertest.Twins(t)
	return &rig{one}, &rig{other}
}
