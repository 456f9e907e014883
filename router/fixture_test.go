package router_test

import (
	"testing"

	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { routertest.Main(m) }

// A rig is the one that all tests of the router share, with what only these need.
type rig struct{ *routertest.Rig }

func newRig(t testing.TB, db *storetest.DB) *rig {
	t.Helper()
	return &rig{routertest.New(t, db)}
}

// each runs f on both databases.
func each(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	routertest.Each(t, func(t *testing.T, r *routertest.Rig) { f(t, &rig{r}) })
}

// inTime runs f with a fake clock, over SQLite.
func inTime(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	routertest.InTime(t, func(t *testing.T, r *routertest.Rig) { f(t, &rig{r}) })
}

// twins are two rigs on one PostgreSQL database and one platform.
func twins(t *testing.T) (a, b *rig) {
	t.Helper()
	one, other := routertest.Twins(t)
	return &rig{one}, &rig{other}
}
