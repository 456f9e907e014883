package tokens_test

import (
	"testing"

	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

type house = storetest.House

var each = storetest.EachHouse
