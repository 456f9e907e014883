package words

import (
	"strings"
	"testing"
)

func TestEveryZoneExists(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for line := range strings.Lines(zonesText) {
		zone, places, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !IsZone(zone) {
			t.Errorf("%s is no zone with places", line)
		}
		for place := range strings.SplitSeq(places, ", ") {
			if seen[place] != "" || place == "" {
				t.Errorf("%q is in %s and %s", place, seen[place], zone)
			}
			seen[place] = zone
			if name, found := Place(strings.ToLower(place)); found != zone || name != strings.TrimPrefix(place, "The ") {
				t.Errorf("%s is found as %s in %s", place, name, found)
			}
		}
	}
	if len(seen) < 450 {
		t.Errorf("only %d places", len(seen))
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Europe/Rome": "Europe/Rome", "europe/rome": "Europe/Rome", "America/new york": "America/New_York", " rome ": "Europe/Rome",
		"NEW_YORK": "America/New_York", "los angeles": "America/Los_Angeles", "Sao Paulo": "America/Sao_Paulo", "milan": "Europe/Rome",
		"the hague": "Europe/Amsterdam", "utc": "UTC", "GMT": "GMT", "CET": "CET", "Etc/GMT+5": "Etc/GMT+5",
		"Europe/Rom": `"Europe/Rom" is not a time zone; did you mean Europe/Rome?`,
		"Tokio":      `"Tokio" is not a time zone; did you mean Asia/Tokyo?`,
		"Mars/Base":  `"Mars/Base" is not a time zone; write an IANA name such as Europe/Rome`,
		"Local":      `"Local" is not a time zone; write an IANA name such as Europe/Rome`,
		"":           `"" is not a time zone; write an IANA name such as Europe/Rome`,
	} {
		got, err := Zone(name)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q is %s; want %s", name, got, want)
		}
	}
	if err := CheckZone("rome"); err == nil || !strings.Contains(err.Error(), "did you mean Europe/Rome?") {
		t.Error(err)
	}
}
