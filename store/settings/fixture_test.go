package settings_test

import (
	"testing"

	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	testkit.Main(m, 8) // they wait for owners to expire, and for servers that are away
}

type house = storetest.House

var each = storetest.EachHouse
