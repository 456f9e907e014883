package memory_test

import (
	"testing"

	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
