package telegramtest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

func detail(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Units counts text in UTF-16 code units, as the platform does.
func Units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// cut is the stretch of text from offset on, in UTF-16 units; "" when it is not there.
func cut(text string, offset, length int) string {
	units := layout(text)
	if offset < 0 || length < 0 || offset+length >= len(units) || units[offset] < 0 || units[offset+length] < 0 {
		return ""
	}
	return text[units[offset]:units[offset+length]]
}

// trim takes the white space around text off as the platform does, which keeps it
// at the beginning of code, and moves the entities along.
func trim(text string, entities []Entity) (string, []Entity) {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if !preformatted(entities, 0) {
		short := strings.TrimLeftFunc(text, unicode.IsSpace)
		entities = shift(entities, -Units(text[:len(text)-len(short)]))
		text = short
	}
	total := Units(text)
	var kept []Entity
	for _, e := range entities {
		if e.Offset < 0 { // it began in what was cut off
			e.Offset, e.Length = 0, e.Length+e.Offset
		}
		if e.Length > 0 && e.Offset < total {
			e.Length = min(e.Length, total-e.Offset)
			kept = append(kept, e)
		}
	}
	return text, kept
}

func shift(entities []Entity, by int) []Entity {
	moved := make([]Entity, len(entities))
	for i, e := range entities {
		e.Offset += by
		moved[i] = e
	}
	return moved
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// number reads an ID; what is none is 0, which nobody has.
func number(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}
