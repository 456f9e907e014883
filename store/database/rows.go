package database

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Clean makes a text that both databases can hold and give back unchanged:
// PostgreSQL takes neither NUL nor invalid UTF-8.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Plain is a value as both databases hold it: a text, of whatever type or behind a pointer, is clean, an instant
// is in µs, and a list of texts is JSON; nil pointers and lists are NULL. Others are as they are.
func Plain(v any) any {
	switch v := v.(type) {
	case nil, int64, int, bool, float64, []byte:
		return v
	case string:
		return Clean(v)
	case *string:
		if v == nil {
			return nil
		}
		return Clean(*v)
	case time.Time:
		return Micros(v)
	case []string:
		if v == nil {
			return nil
		}
		return JSONText(v)
	}
	if text := reflect.ValueOf(v); text.Kind() == reflect.String {
		return Clean(text.String())
	}
	return v
}

// JSONText encodes what cannot fail to encode.
func JSONText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a channel or function in a row type: a fault of ours
	}
	return Clean(string(b))
}

var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// LikeText is a text as a part of a pattern of LIKE … ESCAPE '!'.
func LikeText(s string) string { return likeEscaper.Replace(s) }

// Micros is an instant as stored; the zero time is 0.
func Micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// Instant reads Micros back.
func Instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Digits is an ID in text, as names of leases have it.
func Digits(id int64) string { return strconv.FormatInt(id, 10) }

// ShownCost is a cost without the dust of adding many of them up.
func ShownCost(cost float64) float64 { return math.Round(cost*1e9) / 1e9 }

// AsJSON is a body as JSON: itself when it is valid, a string of it when not.
func AsJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if json.Valid(b) {
		return b
	}
	return json.RawMessage(JSONText(Clean(string(b))))
}
