package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"switchboard/internal/words"
)

var timeSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"zone": {"type": ["string", "null"], "description": "IANA time zone, e.g. Asia/Tokyo; null: the session's"}
	},
	"required": ["zone"],
	"additionalProperties": false
}`)

// clock is the tool "time".
type clock func() time.Time

func (now clock) run(_ context.Context, call Call, args struct{ Zone *string }) Result {
	name, err := cmp.Or(strings.TrimSpace(deref(args.Zone, call.Session.TimeZone)), "UTC"), error(nil)
	if args.Zone != nil {
		name, err = words.Zone(name)
	}
	if err != nil {
		return failed("unknown_zone", "use an IANA name: Continent/City with underscores, such as Asia/Tokyo or America/New_York, or UTC", "%v", err)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return failed("unknown_zone", "use another zone", "%v", err)
	}
	at := now()
	local := at.In(zone)
	return Result{End: EndOK, Output: fmt.Sprintf(
		"zone: %s\nlocal: %s\nweekday: %s\nutc_offset: %s\ninstant: %s\n",
		name, local.Format("2006-01-02 15:04"), local.Weekday(), local.Format("-07:00"), at.UTC().Format(time.RFC3339),
	)}
}

var infoSchema = json.RawMessage(`{"type": "object", "properties": {}, "required": [], "additionalProperties": false}`)

// sessionInfo is the tool "session.info".
func sessionInfo(_ context.Context, call Call) Result {
	s := call.Session
	var b strings.Builder
	for _, line := range [][2]string{
		{"session", s.ID},
		{"person", s.Person},
		{"role", s.Role},
		{"channel", s.Channel},
		{"mode", s.Mode},
		{"time_zone", cmp.Or(s.TimeZone, "UTC")},
		{"language", s.Language},
		{"model", s.Model},
	} {
		fmt.Fprintf(&b, "%s: %s\n", line[0], cmp.Or(line[1], "(not set)"))
	}
	return Result{End: EndOK, Output: b.String()}
}
