package render

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Split cuts text into parts that measure at most limit each; measure counts in
// the platform's unit, and nil counts runes. It cuts at a blank line if it can,
// else at a line break, at a space, and last between two characters as people see
// them. White space at a cut is dropped, everything else is kept in order, and no
// part is blank unless the whole text is. A limit of 0 or less means one part.
//
// A single character as people see it that is longer than the limit is cut
// between its runes; a single rune longer than the limit is a part of its own,
// the one case where a part measures more. Bytes that are not UTF-8 become U+FFFD.
func Split(text string, limit int, measure func(string) int) []string {
	if measure == nil {
		measure = utf8.RuneCountInString
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if limit <= 0 || measure(text) <= limit {
		return []string{text}
	}
	s := splitter{limit: limit, measure: measure, guess: min(limit, len(text))}
	var parts []string
	for rest := text; rest != ""; {
		part, after := s.next(rest)
		if strings.Trim(part, blank) != "" {
			parts = append(parts, part)
		}
		rest = after
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// blank is the white space that may be dropped at a cut.
const blank = " \t\r\n"

type splitter struct {
	limit   int
	measure func(string) int
	guess   int   // bytes that the last part took
	ends    []int // of the last window; kept for its memory
}

// next takes one part off text and returns what is left. Its work is bounded by the
// length of the part, whatever the characters and whatever the measure.
func (s *splitter) next(text string) (part, rest string) {
	ends := s.window(text)
	if len(ends) == 0 {
		return s.force(text)
	}
	last := ends[len(ends)-1]
	cut, resume := last, last
	if last < len(text) {
		cut, resume = choose(text, ends)
	}
	part = trim(text, ends, cut)
	// A measure need not grow with its text; the limit holds all the same. What the
	// window ends with is known to fit.
	if s.measure(part) > s.limit {
		part, cut, resume = text[:last], last, last
	}
	s.guess = cut
	return part, text[resume:]
}

// trim is text up to cut without the white space at its end. It goes by whole
// characters: a space may be part of one.
func trim(text string, ends []int, cut int) string {
	i := sort.SearchInts(ends, cut)
	for ; i >= 0; i-- {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		if strings.Trim(text[start:ends[i]], blank) != "" {
			break
		}
		cut = start
	}
	return text[:cut]
}

// window lists the ends of the leading characters of text that fit together. It
// looks no further than about twice what fits: a character may be as long as the
// text, and must not be walked through again for every part cut off it.
func (s *splitter) window(text string) []int {
	bound := 2*s.guess + 64
	for bound < len(text) && s.measure(text[:runeEnd(text, bound)]) <= s.limit {
		bound *= 2
	}
	bound = runeEnd(text, bound)
	s.ends = s.ends[:0]
	end := 0
	for seg := graphemes.FromString(text[:bound]); seg.Next(); {
		end += len(seg.Value())
		s.ends = append(s.ends, end)
	}
	if bound < len(text) && len(s.ends) > 0 { // the last one may go on
		s.ends = s.ends[:len(s.ends)-1]
	}
	return s.ends[:s.fit(text, s.ends)]
}

// fit is how many of the prefixes of text that end at ends are within the limit.
// The last one counted has been measured itself.
func (s *splitter) fit(text string, ends []int) int {
	return sort.Search(len(ends), func(i int) bool { return s.measure(text[:ends[i]]) > s.limit })
}

// runeEnd is the end of the rune that byte i of text is in, at most len(text).
func runeEnd(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return min(i, len(text))
}

// choose finds the best place to cut text within ends, and where the next part
// begins. A break in the first quarter counts only when there is no later one of
// any kind, because it would leave a stub.
func choose(text string, ends []int) (cut, resume int) {
	last := ends[len(ends)-1]
	for _, least := range []int{last / 4, 0} {
		for _, find := range []func(string, []int) int{lastBlankLine, lastNewline, lastSpace} {
			if at := find(text, ends); at > least {
				return at, skip(text, at)
			}
		}
	}
	return last, last
}

// The finders return where the last break of their kind begins, or 0. The
// character after the window counts too: a break there costs nothing.

func lastBlankLine(text string, ends []int) int {
	newlines := 0
	for i := len(ends) - 1; i >= 0; i-- {
		switch at := ends[i]; {
		case breakAt(text, at) > 0:
			if newlines++; newlines == 2 {
				return at
			}
		case at < len(text) && (text[at] == ' ' || text[at] == '\t'):
		default:
			newlines = 0
		}
	}
	return 0
}

func lastNewline(text string, ends []int) int {
	for i := len(ends) - 1; i >= 0; i-- {
		if breakAt(text, ends[i]) > 0 {
			return ends[i]
		}
	}
	return 0
}

func lastSpace(text string, ends []int) int {
	for i := len(ends) - 1; i >= 0; i-- {
		if spaceAt(text, ends[i]) {
			return ends[i]
		}
	}
	return 0
}

// breakAt is the length of the line break at byte i, or 0.
func breakAt(text string, i int) int {
	switch {
	case strings.HasPrefix(text[i:], "\r\n"):
		return 2
	case strings.HasPrefix(text[i:], "\n"):
		return 1
	}
	return 0
}

// spaceAt says whether a space or tab stands at byte i that is a whole character:
// one followed by a combining mark is not.
func spaceAt(text string, i int) bool {
	if i >= len(text) || (text[i] != ' ' && text[i] != '\t') {
		return false
	}
	next := i + 1
	if next >= len(text) || text[next] < utf8.RuneSelf {
		return true
	}
	seg := graphemes.FromString(text[i:min(len(text), i+64)])
	return seg.Next() && len(seg.Value()) == 1
}

// skip returns where the text goes on after the white space at byte i. Spaces
// that indent the line it goes on with are kept.
func skip(text string, i int) int {
	line := -1
	for i < len(text) {
		if n := breakAt(text, i); n > 0 {
			i += n
			line = i
			continue
		}
		if !spaceAt(text, i) {
			break
		}
		i++
	}
	if line >= 0 && i < len(text) {
		return line
	}
	return i
}

// force takes at least one rune off text where not one whole character fits.
func (s *splitter) force(text string) (part, rest string) {
	bound := 64
	for bound < len(text) && s.measure(text[:runeEnd(text, bound)]) <= s.limit {
		bound *= 2
	}
	ends := s.ends[:0]
	for i := range text[:runeEnd(text, bound)] {
		if i > 0 {
			ends = append(ends, i)
		}
	}
	s.ends = ends
	_, end := utf8.DecodeRuneInString(text)
	if n := s.fit(text, ends); n > 0 {
		end = ends[n-1]
	}
	return text[:end], text[end:]
}
