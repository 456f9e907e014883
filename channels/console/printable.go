package console

import (
	"strings"
	"unicode"

	"switchboard/channels/render"
	"switchboard/internal/words"
)

// show is Markdown as it may be printed. Answers quote text from outside, which
// could hold sequences that command the terminal.
func show(markdown string) string { return Printable(render.Parse(markdown).Plain()) }

// Printable is s without control characters but line breaks and tabs, and without
// escape sequences, whole where their end can be found: nothing in it commands a
// terminal. Nor does it hold what turns the direction of the text beside it. What is no UTF-8 becomes U+FFFD.
func Printable(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == 0x1b:
			i += escapeLen(runes[i+1:])
		case r == 0x9b: // CSI in one character
			i += csiLen(runes[i+1:])
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) && r >= 0x202a:
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// escapeLen is how many runes after an escape character belong to its sequence.
func escapeLen(rest []rune) int {
	if len(rest) == 0 {
		return 0
	}
	switch r := rest[0]; {
	case r == '[':
		return 1 + csiLen(rest[1:])
	case r == ']' || r == 'P' || r == '_' || r == '^' || r == 'X': // strings, ended by BEL or ESC \
		for i, c := range rest {
			if c == 0x07 || c == 0x9c {
				return i + 1
			}
			if c == 0x1b && i+1 < len(rest) && rest[i+1] == '\\' {
				return i + 2
			}
			if c == '\n' {
				break // no end in sight: the text behind it is not thrown away
			}
		}
		return 1
	case r >= 0x30 && r <= 0x7e:
		return 1
	}
	return 0
}

// csiLen is how many runes belong to a control sequence after its introducer.
func csiLen(rest []rune) int {
	for i, c := range rest {
		switch {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return len(rest)
}

// oneLine is s on one line, cut to limit runes.
func oneLine(s string, limit int) string {
	return words.OneLine(Printable(s), limit)
}
