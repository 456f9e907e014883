package scheduler

import (
	"fmt"
	"regexp"
	"strings"

	"switchboard/words"
)

// inexact are abbreviations that stand for several zones, or for half a year of one, with what may be meant.
var inexact = map[string]string{
	"ET": "America/New_York", "EST": "America/New_York", "EDT": "America/New_York", "EASTERN": "America/New_York",
	"CT": "America/Chicago", "CST": "America/Chicago", "CDT": "America/Chicago", "CENTRAL": "America/Chicago",
	"MT": "America/Denver", "MST": "America/Denver", "MDT": "America/Denver", "MOUNTAIN": "America/Denver",
	"PT": "America/Los_Angeles", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "PACIFIC": "America/Los_Angeles",
	"AKST": "America/Anchorage", "AKDT": "America/Anchorage", "HST": "Pacific/Honolulu", "BRT": "America/Sao_Paulo",
	"BST": "Europe/London", "WET": "Europe/Lisbon", "WEST": "Europe/Lisbon", "CEST": "Europe/Berlin", "MET": "Europe/Berlin",
	"EEST": "Europe/Athens", "MSK": "Europe/Moscow", "GST": "Asia/Dubai", "IST": "Asia/Kolkata", "SGT": "Asia/Singapore",
	"HKT": "Asia/Hong_Kong", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
	"NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
}

var continents = map[string]bool{
	"Africa": true, "America": true, "Asia": true, "Atlantic": true, "Australia": true, "Europe": true, "Indian": true, "Pacific": true,
}

var offset = regexp.MustCompile(`(?i)^(?:UTC|GMT)?[+-]\d{1,2}(?::?\d\d)?$`)

// timed: the time of a clock was said, so that a zone belongs to it.
func (s *said) timed() bool {
	for _, t := range []*said{s, s.from, s.until} {
		if t != nil && (len(t.clocks) > 0 || t.part != nil || t.day != nil && t.day.tonight) {
			return true
		}
	}
	return s.hours != nil
}

// zoneItem reads "(Europe/Rome)", "Europe/Rome", "UTC", and beside the time of a clock "in New York", "Tokyo
// time". A place that is in no zone we know stays in the text, as in "at 9 in the office".
func (g *grammar) zoneItem(s *said) bool {
	if s.zone != "" {
		return false
	}
	in := g.take("in")
	if g.at >= len(g.tokens) {
		return false
	}
	raw := strings.TrimRight(g.tokens[g.at].raw, ",;:.!?")
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "("), ")")
	bare := !in && raw == name
	switch zone, upper := "", strings.ToUpper(name); {
	case strings.Contains(name, "/") || raw != name || upper == "UTC" || upper == "GMT" || s.timed() && (upper == "CET" || upper == "EET"):
		if zone = name; !strings.Contains(name, "/") && len(name) == 3 {
			zone = upper
		}
		if isDigit(name) || strings.ToLower(zone) == zone || !words.IsZone(zone) {
			_, zone = words.Place(name)
		}
		if continent, _, ok := strings.Cut(name, "/"); ok && zone == "" && continents[continent] && s.timed() {
			g.err = unknownZone(name)
			return false
		}
		if zone == "" {
			return strings.HasPrefix(raw, "(") && g.place(s)
		}
		s.zone = zone
		g.at++
		g.take("time")
		return true
	case bare && s.timed() && offset.MatchString(name):
		return g.fail("an offset such as %s is no time zone; write a name such as Europe/Rome, or all of it, as 2026-12-05T09:00:00+01:00", name)
	case bare && s.timed() && inexact[upper] != "" && len(name) < 5 && (name == upper || len(name) > 2 && name != "wet" && name != "west" && name != "met"):
		return g.fail("%s is not exact; write the name of a time zone, such as %s", name, inexact[upper])
	}
	return (in || g.peek(1) == "time" || g.peek(2) == "time" || g.peek(3) == "time") && g.place(s)
}

// place reads "New York" behind "in", "New York time", "(New York)".
func (g *grammar) place(s *said) bool {
	in, begin := g.at > 0 && g.tokens[g.at-1].word == "in", g.at
	for n := min(4, len(g.tokens)-begin); n > 0; n-- {
		var list []string
		for _, t := range g.tokens[begin : begin+n] {
			list = append(list, strings.TrimRight(strings.TrimPrefix(t.raw, "("), ",;:.!?)"))
		}
		name := strings.Join(list, " ")
		g.at = begin + n
		closed := strings.HasPrefix(g.tokens[begin].raw, "(") && strings.Contains(g.tokens[g.at-1].raw, ")")
		time := g.take("time", "standard time", "daylight time")
		switch zone := inexact[strings.ToUpper(name)]; {
		case !in && !closed && !time || !s.timed() && !g.clockAhead() || name == "nice" || name == "la":
			continue
		case time && (name == "local" || name == "my" || name == "our"):
			return true
		case time && zone != "":
			return g.fail("%s time is not exact; write the name of a time zone, such as %s", name, zone)
		}
		if _, zone := words.Place(name); zone != "" {
			s.zone = zone
			return true
		}
	}
	g.at = begin
	return false
}

// clockAhead: the next is a time of the day.
func (g *grammar) clockAhead() bool {
	ahead := grammar{tokens: g.tokens, at: g.at}
	return ahead.clockItem(&said{})
}

// unknownZone is the name of none. What was meant is looked for when it is said: a long text may have many.
type unknownZone string

func (z unknownZone) Error() string {
	_, err := words.Zone(string(z))
	return fmt.Sprint(err)
}
