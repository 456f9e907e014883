package people_test

import (
	"testing"

	"switchboard/internal/testkit"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	testkit.Main(m, 8) // they wait for owners to expire, and for servers that are away
}

type house struct{ *storetest.House }

func newHouse(t testing.TB, db *store.DB) *house {
	t.Helper()
	return &house{storetest.NewHouse(t, db)}
}

// each runs a test on both databases, in parallel with others.
func each(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	storetest.EachHouse(t, func(t *testing.T, h *storetest.House) { test(t, &house{h}) })
}
