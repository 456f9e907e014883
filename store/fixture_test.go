package store_test

import (
	"fmt"
	"strings"
	"testing"

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

func TestMain(m *testing.M) { storetest.Main(m) }

type house struct{ *storetest.House }

var (
	newHouse = storetest.NewOwn[house]
	each     = storetest.EachOwn[house] // on both databases, in parallel with others
)
