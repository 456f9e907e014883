package sessions_test

import (
	"testing"

	"switchboard/router/routertest"
)

func TestMain(m *testing.M) { routertest.Main(m) }
