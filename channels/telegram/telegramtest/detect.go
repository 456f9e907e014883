package telegramtest

import (
	"cmp"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	"switchboard/internal/words"
)

// What the platform finds in a text by itself. A username has at least four characters
// today; some short ones are the platform's own, so that two are enough.
//
// Source: https://core.telegram.org/bots/api#messageentity, types; for mentions,
// match_mentions in MessageEntity.cpp of https://github.com/tdlib/td.
var detected = []struct {
	typ string
	re  func() *regexp.Regexp
}{
	{"url", words.Pattern(`https?://[^\s<>"]*[^\s<>".,;:!?)\]}]`)},
	{"email", words.Pattern(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)},
	{"bot_command", words.Pattern(`/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]{3,32})?`)},
	{"mention", words.Pattern(`@[A-Za-z0-9_]{2,32}`)},
	{"hashtag", words.Pattern(`#[\p{L}_][\p{L}\p{N}_]*`)},
}

// Detect adds to entities what the platform finds in text where they leave room.
func Detect(text string, entities []Entity) []Entity {
	found := slices.Clone(entities)
	for _, d := range detected {
		for _, at := range d.re().FindAllStringIndex(text, -1) {
			before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
			after, _ := utf8.DecodeRuneInString(text[at[1]:])
			if inWord(before) || d.typ != "mention" && (before == '/' || before == '@') {
				continue
			}
			if d.typ == "bot_command" && (after == '/' || inWord(after)) || d.typ == "mention" && inWord(after) {
				continue
			}
			e := Entity{Type: d.typ, Offset: Units(text[:at[0]]), Length: Units(text[at[0]:at[1]])}
			free := !slices.ContainsFunc(found, func(o Entity) bool {
				return o.Offset < e.end() && e.Offset < o.end() && (rank(o) == 2 || clash(o, e) != "" && clash(e, o) != "")
			})
			if free {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	return found
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_'
}
