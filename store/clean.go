package store

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// clean makes a text that both databases can hold and give back unchanged:
// PostgreSQL takes neither NUL nor invalid UTF-8.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cleanPtr is clean for a column that may be NULL.
func cleanPtr(s *string) any {
	if s == nil {
		return nil
	}
	return clean(*s)
}

// jsonList is a list as JSON text; a nil one is NULL.
func jsonList(list []string) any {
	if list == nil {
		return nil
	}
	return jsonText(list)
}

// jsonText encodes what cannot fail to encode.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a channel or function in a row type: a fault of ours
	}
	return clean(string(b))
}

// parseList reads jsonList back.
func parseList(s *string) ([]string, error) {
	if s == nil {
		return nil, nil
	}
	var list []string
	err := json.Unmarshal([]byte(*s), &list)
	return list, err
}

// micros is an instant as stored; the zero time is 0.
func micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// instant reads micros back.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// instantPtr reads a column that may be NULL.
func instantPtr(us *int64) *time.Time {
	if us == nil {
		return nil
	}
	at := instant(*us)
	return &at
}

func name(id int64) string { return strconv.FormatInt(id, 10) }
