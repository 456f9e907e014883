package words

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones also where the system brings none, as in small containers
)

//go:embed zones.txt
var zonesText string // lines of a zone and the places in it, the first of which it is called by, and of zones with "?" that names may mean

type place struct{ name, zone, inexact string }

// Offset is a distance from UTC, which is no zone.
var Offset = regexp.MustCompile(`(?i)^(?:UTC|GMT)?[+-]\d{1,2}(?::?\d\d)?$`)

// NotExact says of a name what Inexact has.
const NotExact = "%s is not exact; write the name of a time zone, such as %s"

// places are those of zonesText, and the names of their zones, by their key.
var places = sync.OnceValue(func() map[string]place {
	all := make(map[string]place)
	for line := range strings.Lines(zonesText) {
		zone, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		zone, inexact := strings.CutSuffix(zone, "?")
		for name := range strings.SplitSeq(names, ", ") {
			all[placeKey(name)] = place{name: strings.TrimPrefix(name, "The "), zone: zone}
			if inexact {
				all[placeKey(name)] = place{inexact: zone}
			}
		}
		if inexact {
			continue
		}
		if key := placeKey(zone); all[key].zone == "" {
			first, _, _ := strings.Cut(names, ", ")
			all[key] = place{name: first, zone: zone}
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

// Inexact are zones that may be meant by an abbreviation or a country that has several; empty: it is none.
func Inexact(name string) string { return places()[placeKey(name)].inexact }

// NearPlace is the place that was meant by a name in which one letter is wrong; empty: none.
func NearPlace(name string) (near string) {
	key := placeKey(name)
	if len(key) < 5 || len(key) > 40 || key[0] == strings.TrimSpace(name)[0] { // not capitalised
		return ""
	}
	for k, p := range places() {
		if p.zone != "" && k[0] == key[0] && max(len(k)-len(key), len(key)-len(k)) < 2 && distance(key, k) == 1 && (near == "" || p.name < near) {
			near = p.name
		}
	}
	return near
}

// Zone finds a time zone by its IANA name, in any case, or by a place in it. An error is a sentence that
// says what may have been meant.
func Zone(name string) (string, error) {
	name = strings.TrimSpace(name)
	if IsZone(name) && Inexact(name) == "" { // EST is one, and not what is meant in summer
		return name, nil
	}
	if _, zone := Place(name); zone != "" {
		return zone, nil
	}
	key, meant := placeKey(name), "write an IANA name such as Europe/Rome"
	switch zones := Inexact(name); {
	case zones != "":
		return "", fmt.Errorf(NotExact, OneLine(name, 60), zones)
	case Offset.MatchString(name):
		return "", fmt.Errorf("an offset such as %s is no time zone; %s", name, meant)
	}
	if whole := strings.Contains(key, "/"); len(key) < 40 {
		all := slices.DeleteFunc(slices.Sorted(maps.Keys(places())), func(k string) bool { return strings.Contains(k, "/") != whole || places()[k].zone == "" })
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
	first, _, _ := strings.Cut(name, "/") // files of some systems that are no zones, or count leap seconds
	return err == nil && name != "" && name != "Local" && !slices.Contains(strings.Fields("localtime posixrules right posix"), first)
}
