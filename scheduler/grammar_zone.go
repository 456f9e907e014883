package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"switchboard/internal/words"
)

var continents = map[string]bool{
	"Africa": true, "America": true, "Asia": true, "Atlantic": true, "Australia": true, "Europe": true, "Indian": true, "Pacific": true,
}

// abbreviated: a word is short for one zone, in capitals where it may be another word. Z is one behind a clock.
func (s *said) abbreviated(word string) bool {
	short, _ := words.Place(word)
	small := word == strings.ToLower(word) && word != "sgt" && word != "nyc"
	return short == strings.ToUpper(word) && (word == "Z" && len(s.clocks) > 0 || len(word) > 2 && (word == short || small))
}

// zoneItem reads "(Europe/Rome)", "Europe/Rome", "UTC", and next to the time of a clock "in New York", "Tokyo
// time". A place that is in no zone we know stays in the text, as in "at 9 in the office".
func (g *grammar) zoneItem(s *said) bool {
	if s.zone != "" {
		return false
	}
	in := g.take("in", "time-of")
	if g.at >= len(g.tokens) {
		return false
	}
	raw := strings.TrimRight(g.tokens[g.at].raw, ",;:.!?")
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "("), ")")
	bare := !in && raw == name
	switch zone, upper := "", strings.ToUpper(name); {
	case strings.Contains(name, "/") || raw != name || upper == "UTC" || upper == "GMT" || s.timed() && (upper == "CET" || upper == "EET" || !in && s.abbreviated(name)):
		if zone = name; !strings.Contains(name, "/") && len(name) == 3 {
			zone = upper
		}
		if isDigit(name) || strings.ToLower(zone) == zone || !words.IsZone(zone) || words.Inexact(zone) != "" {
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
	case bare && s.timed() && words.Offset.MatchString(name):
		return g.fail("an offset such as %s is not a time zone; write a name such as Europe/Rome, or the full date and time with the offset, such as 2026-12-05T09:00:00+01:00", name)
	case bare && s.timed() && words.Inexact(name) != "" && len(name) < 5 && (name == upper || len(name) > 2 && !slices.Contains(strings.Fields("wet west met usa"), name)) && upper != "US":
		return g.fail(words.NotExact, name, words.Inexact(name))
	}
	if bare && g.capitalised(s, name) {
		return false
	}
	return (in || g.peek(1) == "time" || g.peek(2) == "time" || g.peek(3) == "time") && g.place(s)
}

// capitalised fails where "Eastern" or "US eastern" stands behind a clock, which may be a zone or text.
func (g *grammar) capitalised(s *said, name string) bool {
	if name == "" || !unicode.IsUpper([]rune(name)[0]) || !s.timed() || len(s.clocks) == 0 && (s.part != nil || s.day != nil && s.day.tonight) {
		return false
	}
	if name == "US" {
		name += " " + g.peek(1)
	}
	zone := words.Inexact(name)
	return zone != "" && !strings.Contains(zone, " or ") && !g.fail(words.NotExact+escape, name, zone)
}

// place reads "New York" behind "in", "New York time", "(New York)".
func (g *grammar) place(s *said) bool {
	in, begin := g.at > 0 && g.tokens[g.at-1].word == "in", g.at
	of := g.at > 0 && g.tokens[g.at-1].word == "time-of"
	for n := min(4, len(g.tokens)-begin); n > 0; n-- {
		var list []string
		for _, t := range g.tokens[begin : begin+n] {
			list = append(list, strings.TrimRight(strings.TrimPrefix(t.raw, "("), ",;:.!?)"))
		}
		name := strings.Join(list, " ")
		g.at = begin + n
		closed := strings.HasPrefix(g.tokens[begin].raw, "(") && strings.Contains(g.tokens[g.at-1].raw, ")")
		time := g.take("time", "standard time", "daylight time") || of
		sure := name == strings.ToUpper(name) || strings.HasPrefix(name, "US ") || closed && name != strings.ToLower(name)
		switch zones := words.Inexact(name); {
		case !in && !closed && !time || !s.timed() && !g.clockAhead() || name == "nice" || name == "la":
			continue
		case time && (name == "local" || name == "my" || name == "our"):
			return true
		case zones != "" && (time || sure || strings.Contains(zones, " or ") && name != "us"): // "in the US", but "in central Rome"
			return g.fail(words.NotExact+escape, name, zones)
		}
		_, zone := words.Place(name)
		if adjective, ok := strings.CutSuffix(name, "er"); ok && time && zone == "" { // New Yorker Zeit
			_, zone = words.Place(adjective)
		}
		if zone != "" {
			s.zone = zone
			return g.region(zone)
		}
	}
	if g.at = begin; in && s.timed() {
		name := strings.TrimRight(g.tokens[begin].raw, ",;:.!?")
		if near := words.NearPlace(name); near != "" {
			return g.fail("“%s” is no place with a time zone that is known; did you mean %s?%s", name, near, escape)
		}
	}
	return false
}

// region reads what a place is in, as in "Rome, Italy". What may be elsewhere is refused: Paris, Texas.
func (g *grammar) region(zone string) bool {
	if !g.ended(",") || g.at == len(g.tokens) || !unicode.IsUpper([]rune(g.tokens[g.at].raw)[0]) {
		return true
	}
	name := strings.TrimRight(g.tokens[g.at].raw, ",;:.!?")
	if _, of := words.Place(name); of != zone {
		return g.fail("I don't know which time zone “%s %s” is in; write its name, such as Europe/Rome%s", g.tokens[g.at-1].raw, name, escape)
	}
	g.at++
	return true
}

// unknownZone is the name of none. What was meant is looked for when it is said: a long text may have many.
type unknownZone string

func (z unknownZone) Error() string {
	_, err := words.Zone(string(z))
	return fmt.Sprint(err)
}
