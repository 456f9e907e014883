package jobs_test

import (
	"testing"

	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

type house struct{ *storetest.House }

var (
	newHouse = storetest.NewOwn[house]
	each     = storetest.EachOwn[house] // on both databases, in parallel with others
)
