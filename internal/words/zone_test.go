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
		such, inexact := strings.CutSuffix(zone, "?")
		for zone := range strings.SplitSeq(strings.ReplaceAll(such, " or ", ", "), ", ") {
			if !ok || !IsZone(zone) {
				t.Errorf("%s is no zone with places", line)
			}
		}
		for place := range strings.SplitSeq(places, ", ") {
			if seen[place] != "" || place == "" {
				t.Errorf("%q is in %s and %s", place, seen[place], zone)
			}
			seen[place] = zone
			if inexact {
				if got := Inexact(strings.ToLower(place)); got != such {
					t.Errorf("%s may be %s; want %s", place, got, such)
				}
				continue
			}
			if name, found := Place(strings.ToLower(place)); found != zone || name != strings.TrimPrefix(place, "The ") {
				t.Errorf("%s is found as %s in %s", place, name, found)
			}
		}
	}
	if len(seen) < 2000 {
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
		"Mars":       `"Mars" is not a time zone; write an IANA name such as Europe/Rome`,
		"Atlantis":   `"Atlantis" is not a time zone; write an IANA name such as Europe/Rome`,
		"Tokyq":      `"Tokyq" is not a time zone; did you mean Asia/Tokyo?`,
		"Tokio":      "Asia/Tokyo", "Mailand": "Europe/Rome", "Ginevra": "Europe/Zurich", "Nueva York": "America/New_York", "Londres": "Europe/London",
		"München": "Europe/Berlin", "Allemagne": "Europe/Berlin", "Giappone": "Asia/Tokyo", "Surat": "Asia/Kolkata",
		"Birmingham": "Birmingham is not exact; write the name of a time zone, such as America/Chicago or Europe/London",
		"PST":        "PST is not exact; write the name of a time zone, such as America/Los_Angeles",
		"the US":     "the US is not exact; write the name of a time zone, such as America/New_York, America/Chicago or America/Los_Angeles",
		"JST":        "Asia/Tokyo",
		"msk":        "Europe/Moscow",
		"EST":        "EST is not exact; write the name of a time zone, such as America/New_York",
		"UTC+2":      "an offset such as UTC+2 is no time zone; write an IANA name such as Europe/Rome",
		"Mars/Base":  `"Mars/Base" is not a time zone; write an IANA name such as Europe/Rome`,
		"localtime":  `"localtime" is not a time zone; write an IANA name such as Europe/Rome`,
		"posixrules": `"posixrules" is not a time zone; write an IANA name such as Europe/Rome`,
		"right/UTC":  `"right/UTC" is not a time zone; write an IANA name such as Europe/Rome`,
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
	for name, want := range map[string]string{"Romee": "Rome", "Tokyq": "Tokyo", "Room": "", "tokyq": "", "Berlim": "Berlin", "": ""} {
		if got := NearPlace(name); got != want {
			t.Errorf("%s is near %q; want %q", name, got, want)
		}
	}
	if err := CheckZone("rome"); err == nil || !strings.Contains(err.Error(), "did you mean Europe/Rome?") {
		t.Error(err)
	}
}
