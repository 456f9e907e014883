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

// escapes are the sequences that command a terminal: control sequences, strings whose end
// is on their line, and single characters behind an escape, or it alone.
//
// Source: ECMA-48, 5.4 "Control sequences", 5.6 "Control strings".
var escapes = words.Pattern("(?:\x1b\\[|\u009b)[ -?]*[@-~]?" +
	"|\x1b[\\]P_^X](?:[^\n\x07\u009c]*?(?:\x07|\u009c|\x1b\\\\))?|\x1b[0-~]?")

// Printable is s without control characters but line breaks and tabs, and without
// escape sequences, whole where their end can be found: nothing in it commands a
// terminal. Nor does it hold what turns the direction of the text next to it. What is no UTF-8 becomes U+FFFD.
func Printable(s string) string {
	if strings.ContainsAny(s, "\x1b\u009b") {
		// Of runes, or two bytes that are none could become one by what is taken from between.
		s = escapes().ReplaceAllLiteralString(string([]rune(s)), "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) && r >= 0x202a:
			return -1
		}
		return r
	}, s)
}

// oneLine is s on one line, cut to limit runes.
func oneLine(s string, limit int) string {
	return words.OneLine(Printable(s), limit)
}
