package platformtest

import (
	"cmp"
	"strings"
	"unicode"
)

// Pieces cuts a text into messages of at most max, as apps do: at the end of a line if
// there is one, else of a word, else anywhere. Measure says what a rune counts.
func Pieces(text string, limit int, measure func(rune) int) (parts []string) {
	for text = strings.TrimSpace(text); text != ""; {
		end, line, word, units := len(text), 0, 0, 0
		for i, r := range text {
			if units += measure(r); units > limit {
				end = cmp.Or(line, word, i)
				break
			}
			switch {
			case r == '\n':
				line = i
			case unicode.IsSpace(r):
				word = i
			}
		}
		parts = append(parts, strings.TrimRightFunc(text[:end], unicode.IsSpace))
		text = strings.TrimLeftFunc(text[end:], unicode.IsSpace)
	}
	return parts
}
