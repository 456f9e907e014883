package platformtest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// mostFiles is how many files go with one message; all platforms take as many.
const mostFiles = 10

// Texts are the messages that the deed's text goes as, cut as pieces does; with files there is at least an
// empty one.
func (d *Deed) Texts(limit int, measure func(rune) int) ([]string, error) {
	texts := pieces(d.Text, limit, measure)
	switch {
	case len(d.Files) > mostFiles:
		return nil, fmt.Errorf("at most %d files go at once", mostFiles)
	case len(texts) == 0 && len(d.Files) == 0:
		return nil, errors.New("the message is empty")
	case len(texts) == 0:
		texts = []string{""}
	}
	return texts, nil
}

// pieces cuts a text into messages of at most max, as apps do: at the end of a line if
// there is one, else of a word, else anywhere. Measure says what a rune counts.
func pieces(text string, limit int, measure func(rune) int) (parts []string) {
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
