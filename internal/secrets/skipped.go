package secrets

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// skipped is how many bytes of control characters, and of others that show nothing, text
// begins with; with marks those of Markdown too, and what may become one.
func skipped(text string, marks bool) (n int) {
	for n < len(text) {
		c := text[n]
		if c < utf8.RuneSelf {
			switch {
			case marks && unfinished(text[n:]):
				return len(text)
			case !control(c) && !(marks && strings.IndexByte(markdown, c) >= 0):
				return n
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		if !hidden(r) {
			break
		}
		n += size
	}
	return n
}

// markdown are marks that are no more to be seen once others follow, and those that tables and
// headings are drawn with.
const markdown = "*_~|`[]\\ =-+"

// unmarked takes them out.
var unmarked = strings.NewReplacer("*", "", "_", "", "~", "", "|", "", "`", "", "[", "", "]", "", "\\", "", " ", "", "=", "", "-", "", "+", "")

// unfinished says that text, which goes on, may be a character reference or the address of a
// link.
func unfinished(text string) bool {
	switch text[0] {
	case '&':
		return len(text) < 32 && !strings.ContainsFunc(text[1:], func(r rune) bool {
			return r != '#' && (r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r))
		})
	case ']':
		return strings.HasPrefix(text, "](") && !strings.ContainsAny(text, ")\n")
	}
	return false
}

// shown is a text without what is skipped.
func shown(text string) string {
	var out []byte
	from := 0
	for i := range len(text) {
		if n := skipped(text[i:], false); n > 0 && i >= from {
			out, from = append(out, text[from:i]...), i+n
		}
	}
	if from == 0 {
		return text
	}
	return string(append(out, text[from:]...))
}

// cutOff says that text is a part of a character that may be one that is skipped.
func cutOff(text string) bool { return text[0] >= utf8.RuneSelf && !utf8.FullRuneInString(text) }

// control says whether c is a control character other than a tab, which people see.
func control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// hidden says whether people do not see r, beyond ASCII.
func hidden(r rune) bool {
	return r >= 0x80 && (r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
