package sessions

import (
	"strconv"
	"strings"

	"switchboard/store/database"
)

// An Object is what a function of PostgreSQL takes as JSON, by the names that it is read by there; []byte is base64.
type Object = map[string]any

// ObjectText encodes an object, or a list of them, with values as database.Plain has them. What it does not know itself goes the
// way of JSONText, by reflection, which for all of it would be a tenth of a message's time.
func ObjectText(v any) string { return database.Clean(string(appendValue(make([]byte, 0, 2<<10), v))) }

func appendValue(b []byte, v any) []byte {
	switch v := database.Plain(v).(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	case []Object:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, one)
		}
		return append(b, ']')
	case Object:
		if v == nil {
			return append(b, "null"...)
		}
		next := byte('{')
		for name, value := range v { // the names are ours, and plain
			b = append(append(append(b, next, '"'), name...), '"', ':')
			b = appendValue(b, value)
			next = ','
		}
		if next == '{' {
			b = append(b, '{')
		}
		return append(b, '}')
	}
	return append(b, database.JSONText(v)...)
}

// isPlain says that text stands in JSON as it is.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}
