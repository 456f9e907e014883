package words

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones also where the system brings none, as in small containers
)

//go:embed zones.txt
var zonesText string // lines of a zone and the places in it, the first of which it is called by

type place struct{ name, zone string }

// places are those of zonesText, and the names of their zones, by their key.
var places = sync.OnceValue(func() map[string]place {
	all := make(map[string]place)
	for line := range strings.Lines(zonesText) {
		zone, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for name := range strings.SplitSeq(names, ", ") {
			all[placeKey(name)] = place{strings.TrimPrefix(name, "The "), zone}
		}
		if key := placeKey(zone); all[key].zone == "" {
			first, _, _ := strings.Cut(names, ", ")
			all[key] = place{first, zone}
		}
	}
	return all
})

func placeKey(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), " ")), "the ")
}

// Place finds a city or a country by its name in any case, as in "new york"; zone is empty where none is
// known.
func Place(name string) (place, zone string) {
	p := places()[placeKey(name)]
	return p.name, p.zone
}

// Zone finds a time zone by its IANA name, in any case, or by a place in it. An error is a sentence that
// says what may have been meant.
func Zone(name string) (string, error) {
	name = strings.TrimSpace(name)
	if IsZone(name) {
		return name, nil
	}
	if _, zone := Place(name); zone != "" {
		return zone, nil
	}
	key, meant := placeKey(name), "write an IANA name such as Europe/Rome"
	if whole := strings.Contains(key, "/"); len(key) < 40 {
		all := slices.DeleteFunc(slices.Sorted(maps.Keys(places())), func(k string) bool { return strings.Contains(k, "/") != whole })
		if near := Nearest(key, all); near != "" {
			meant = "did you mean " + places()[near].zone + "?"
		}
	}
	return "", fmt.Errorf("%q is not a time zone; %s", OneLine(name, 60), meant)
}

// CheckZone wants the name of a time zone as IANA writes it, for where it is kept.
func CheckZone(name string) error {
	if IsZone(name) {
		return nil
	}
	zone, err := Zone(name)
	if err == nil {
		err = fmt.Errorf("%q is not a time zone; did you mean %s?", name, zone)
	}
	return err
}

// IsZone: it is the name of a zone as IANA writes it. "Local" is the machine's, which is nobody's business.
func IsZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "" && name != "Local"
}
