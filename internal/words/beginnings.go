package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Beginnings says of a text whether one of its words begins like one of a list, in small or large letters. In the list they have spaces
// between them.
func Beginnings(list string) func(text string) bool {
	starts := map[rune][]string{} // by their first letter
	for _, start := range strings.Fields(strings.ToLower(list)) {
		first, _ := utf8.DecodeRuneInString(start)
		starts[first] = append(starts[first], start)
	}
	return func(text string) bool {
		text = strings.ToLower(text)
		within := false // a word
		for i, r := range text {
			if !within {
				for _, start := range starts[r] {
					if strings.HasPrefix(text[i:], start) {
						return true
					}
				}
			}
			within = unicode.IsLetter(r)
		}
		return false
	}
}
