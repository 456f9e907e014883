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
	s := splitter{limit: limit, measure: measure, guess: limit}
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
	guess   int // bytes that the last part took
}

// next takes one part off text and returns what is left.
func (s *splitter) next(text string) (part, rest string) {
	ends := s.window(text)
	for n := len(ends); n > 0; {
		cut, resume := len(text), len(text)
		if ends[n-1] < len(text) {
			cut, resume = choose(text, ends[:n])
		}
		// A measure need not grow with its text; the limit holds all the same.
		if part = trim(text, ends[:n], cut); s.measure(part) <= s.limit {
			s.guess = cut
			return part, text[resume:]
		}
		n--
	}
	return s.force(text)
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

// window lists the ends of the leading characters of text that fit together.
func (s *splitter) window(text string) []int {
	var ends []int
	bound := 2*s.guess + 64
	end := 0
	for seg := graphemes.FromString(text); ; {
		more := false
		for more = seg.Next(); more; more = seg.Next() {
			end += len(seg.Value())
			ends = append(ends, end)
			if end >= bound {
				break
			}
		}
		if !more || s.measure(text[:end]) > s.limit {
			break
		}
		bound *= 2
	}
	fit := sort.Search(len(ends), func(i int) bool { return s.measure(text[:ends[i]]) > s.limit })
	return ends[:fit]
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
	_, end := utf8.DecodeRuneInString(text)
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if s.measure(text[:end+size]) > s.limit {
			break
		}
		end += size
	}
	return text[:end], text[end:]
}
