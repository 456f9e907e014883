package backup_test

import (
	"testing"

	"switchboard/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, 4) }
