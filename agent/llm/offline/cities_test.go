package offline

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func TestEveryZoneExists(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for line := range strings.Lines(cities) {
		zone, places, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if _, err := time.LoadLocation(zone); err != nil || zone == "" || !ok {
			t.Errorf("%s: %v", line, err)
		}
		for place := range strings.SplitSeq(places, ", ") {
			if seen[place] != "" || place == "" {
				t.Errorf("%q is in %s and %s", place, seen[place], zone)
			}
			seen[place] = zone
			if name, found := findZone(strings.ToLower(place)); found != zone || name != strings.TrimPrefix(place, "The ") {
				t.Errorf("%s is found as %s in %s", place, name, found)
			}
		}
	}
	if len(seen) < 250 {
		t.Errorf("only %d places", len(seen))
	}
}
