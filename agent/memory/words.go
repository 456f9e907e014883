package memory

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/spanish"
	"golang.org/x/text/unicode/norm"
)

const (
	maxText = 6000 // runes of a text that are indexed
	maxWord = 40   // runes of a word; the rest of it is left out
	minNear = 5    // runes of a word that is also looked for by its ends

	// beginMark and endMark stand before the ends of words in the index: letters in which nobody writes, so that no word is like one.
	beginMark, endMark = "ᚠ", "ᚢ"
)

var stemmers = map[string]func(*snowballstem.Env) bool{"de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fr": french.Stem, "it": italian.Stem}

//go:embed words.txt
var listed string

// lists are the words of words.txt, folded: stop has the languages of each, in order.
var lists = sync.OnceValue(func() (l struct {
	stop   map[string][]string
	common map[string]bool
},
) {
	l.stop, l.common = map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(listed) {
		head, words, _ := strings.Cut(line, ":")
		language, list, _ := strings.Cut(head, " ")
		for _, word := range strings.Fields(words) {
			if word = fold(word); list == "common" {
				l.common[word] = true
			} else if !slices.Contains(l.stop[word], language) {
				l.stop[word] = append(l.stop[word], language)
			}
		}
	}
	return l
})

// spaceless are the scripts that have no spaces between words, or particles at their ends: pairs of characters are their words.
var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// Spaceless says whether a character is of a script that has no spaces between words, or particles at their ends.
func Spaceless(r rune) bool { return unicode.In(r, spaceless...) }

// plainLetters are those that have no accent to take off, and are also written with others.
var plainLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "þ", "th", "ð", "d")

// fold is a word in lower case without its accents. Marks of scripts where they are letters stay.
func fold(word string) string {
	if !slices.ContainsFunc([]byte(word), func(b byte) bool { return b >= 0x80 || b >= 'A' && b <= 'Z' }) {
		return word
	}
	var b strings.Builder
	bare := false // the letter before may lose its marks
	for _, r := range norm.NFKD.String(strings.ToLower(word)) {
		if unicode.Is(unicode.Mn, r) && bare {
			continue
		}
		bare = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
		b.WriteRune(r)
	}
	return norm.NFC.String(plainLetters.Replace(b.String()))
}

// split is the words of a text in lower case, without punctuation. What is written without spaces comes by pairs of characters;
// with single, also by each of them.
func split(text string, single bool) (words []string) {
	var word []rune
	dense := false // word is of a script without spaces
	end := func() {
		switch n := len(word); {
		case n == 0:
		case !dense:
			words = append(words, string(word[:min(n, maxWord)]))
		default:
			for i := range word {
				if single || n == 1 {
					words = append(words, string(word[i]))
				}
				if i > 0 {
					words = append(words, string(word[i-1:i+1]))
				}
			}
		}
		word = word[:0]
	}
	n := 0
	for _, r := range norm.NFKC.String(strings.ToLower(text[:min(len(text), 4*maxText)])) {
		if n++; n > maxText {
			break
		}
		is := Spaceless(r)
		switch {
		case !unicode.In(r, unicode.L, unicode.M, unicode.N):
			end()
			continue
		case is != dense && !unicode.Is(unicode.M, r):
			end()
			dense = is
		}
		word = append(word, r)
	}
	end()
	return words
}

// tongues are the languages that a text may be in, by its stop words: the one that has most of them and those that have as
// many, or all where there is none.
func tongues(words []string) (names []string) {
	count, most := map[string]int{}, 0
	for _, word := range words {
		for _, language := range lists().stop[fold(word)] {
			count[language]++
			most = max(most, count[language])
		}
	}
	for _, language := range []string{"de", "en", "es", "fr", "it"} {
		if count[language] == most {
			names = append(names, language)
		}
	}
	return names
}

// forms are what a word, in lower case, is found by: itself, folded, and its stems in these languages.
func forms(word string, languages []string) []string {
	list := []string{fold(word)}
	for _, r := range word {
		if !unicode.Is(unicode.Latin, r) {
			return list
		}
	}
	for _, language := range languages {
		e := snowballstem.NewEnv(word)
		stemmers[language](e)
		if stem := fold(e.Current()); stem != "" && !slices.Contains(list, stem) {
			list = append(list, stem)
		}
	}
	return list
}

// ends are the beginning and the end of a folded word as they stand in the index, by which words are found that are nearly
// the same; nil of one that is short.
func ends(word string) []string {
	runes := []rune(word)
	if len(runes) < minNear {
		return nil
	}
	return []string{beginMark + string(runes[:4]), endMark + string(runes[len(runes)-4:])}
}

// Words are what a text is found by: its words folded, their stems, and their ends, each once, with spaces between. A word
// has letters, marks and digits alone.
func Words(text string) string {
	words := split(text, true)
	languages := tongues(words)
	seen := make(map[string]bool, 8*len(words))
	var list []string
	add := func(words []string) {
		for _, w := range words {
			if !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
	}
	raw := make(map[string]bool, len(words))
	for _, word := range words {
		if !raw[word] {
			raw[word] = true
			all := forms(word, languages)
			add(all)
			add(ends(all[0]))
		}
	}
	return strings.Join(list, " ")
}

// A Term is a word of a question.
type Term struct {
	Forms  []string // any of which may stand in the index
	Ends   []string // of which words have one there that are nearly the same; nil: it is too short
	Common bool     // it stands in many texts
}

// HasAll says whether a text, as Words makes it, has all of some words; false where there are none.
func HasAll(words string, terms []Term) bool {
	return len(terms) > 0 && has(words, terms) == len(terms)
}

// elided is a letter with its apostrophe, as of "Ann's" or "l'école".
var elided = regexp.MustCompile(`(?i)['’][a-z]\b|\b[a-z]['’]`)

// capitals are a word such as "US", which is no "us", or "C".
var capitals = regexp.MustCompile(`\p{Lu}{2,}|\b[B-HJ-Z]\b`)

// HasWords says whether a text has all words of another, each as it is or with another ending; false where there are none, or only such
// as say nothing, unless the text has no others. It is for what a person wants gone: what is only like a word, as "universe" is like
// "university", is none.
func HasWords(text, words string) bool {
	words = elided.ReplaceAllString(words, "")
	list, folded := split(words, false), fold(text)
	if slices.ContainsFunc(list, func(word string) bool { // most texts have not even its beginning
		start := []rune(fold(word))
		return !strings.Contains(folded, string(start[:min(3, len(start))]))
	}) {
		return false
	}
	in := split(text, true)
	languages := tongues(in)
	says := slices.ContainsFunc(capitals.FindAllString(words, -1), func(word string) bool {
		return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N) }), word)
	})
	for _, word := range list {
		if !slices.ContainsFunc(in, func(other string) bool { return sameWord(word, other, languages) }) {
			return false
		}
		says = says || !silent(fold(word), languages)
	}
	return len(list) > 0 && (says || Terms(text) == nil)
}

// sameWord says that two words are one but for their endings, of two letters at most, or y and ies. An a is no o: Paola is not Paolo.
func sameWord(word, other string, languages []string) bool {
	a, b := []rune(fold(word)), []rune(fold(other))
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	switch x, y := string(a[n:]), string(b[n:]); {
	case x == y:
		return true
	case x+y == "ao" || x+y == "oa" || max(len(a), len(b)) > n+2 && x+y != "yies" && x+y != "iesy":
		return false
	}
	stems := forms(other, languages)
	return slices.ContainsFunc(forms(word, languages), func(stem string) bool { return slices.Contains(stems, stem) })
}

// silent says that a folded word says nothing in one of some languages.
func silent(word string, languages []string) bool {
	return slices.ContainsFunc(lists().stop[word], func(language string) bool { return slices.Contains(languages, language) })
}

// HasMost says whether it has more than half of them.
func HasMost(words string, terms []Term) bool { return 2*has(words, terms) > len(terms) }

func has(words string, terms []Term) (n int) {
	words = " " + words + " "
	for _, t := range terms {
		if t.in(words) {
			n++
		}
	}
	return n
}

// lettered is a letter that is a word and says something, as in "plan A"; "I" is none.
var lettered = regexp.MustCompile(`[\p{L}\p{N},;:]\s([A-HJ-Z])(?:[^\p{L}\p{N}'’]|$)`)

// maxTerms bounds the words of a question.
const maxTerms = 12

// Terms are what a question looks for: its words without those that say nothing, the longest where it has too many, and
// those that are not common first.
func Terms(text string) (q []Term) {
	words := split(text, false)
	languages := tongues(words)
	for _, word := range words {
		folded := fold(word)
		if len(folded) == 1 && folded[0] >= 'a' || silent(folded, languages) {
			continue
		}
		if slices.ContainsFunc(q, func(w Term) bool { return w.Forms[0] == folded }) {
			continue
		}
		w := Term{Forms: forms(word, languages), Ends: ends(folded), Common: lists().common[folded] || kana(folded)}
		for _, f := range forms(folded, languages) { // as somebody writes it who has no accents
			if !slices.Contains(w.Forms, f) {
				w.Forms = append(w.Forms, f)
			}
		}
		q = append(q, w)
	}
	for _, m := range lettered.FindAllStringSubmatch(text[:min(len(text), maxText)], -1) {
		letter := strings.ToLower(m[1])
		if !slices.ContainsFunc(q, func(w Term) bool { return w.Forms[0] == letter }) {
			q = append(q, Term{Forms: []string{letter}})
		}
	}
	if len(q) > maxTerms {
		slices.SortStableFunc(q, func(a, b Term) int {
			if a.Common != b.Common {
				return map[bool]int{true: 1, false: -1}[a.Common]
			}
			return len(b.Forms[0]) - len(a.Forms[0])
		})
		q = q[:maxTerms]
	}
	return q
}

// kana says that a word is of Hiragana alone, in which Japanese writes its endings and particles.
func kana(word string) bool {
	for _, r := range word {
		if !unicode.Is(unicode.Hiragana, r) {
			return false
		}
	}
	return word != ""
}
