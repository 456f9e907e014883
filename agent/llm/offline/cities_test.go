package offline

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func TestEveryZoneExists(t *testing.T) {
	t.Parallel()
	if len(byCity()) < 250 {
		t.Errorf("only %d places", len(byCity()))
	}
	for place, zone := range byCity() {
		if _, err := time.LoadLocation(zone); err != nil || zone == "" {
			t.Errorf("%s: %v", place, err)
		}
	}
}
