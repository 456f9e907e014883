package store_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/internal/testkit"
	"switchboard/store"
	"switchboard/store/storetest"
)

// random is a text that does not compress.
func random(n int) string {
	var b strings.Builder
	for x := uint64(1); b.Len() < n; {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x", x)
	}
	return b.String()
}

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
