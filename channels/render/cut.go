package render

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// choose finds the best place to cut text up to byte last, the end of a character,
// and where the next piece begins. A break in the first quarter counts only when there
// is no later one of any kind, because it would leave a stub.
func (s *splitter) choose(text string, last int) (cut, resume int) {
	taken := s.inside(last)
	for _, least := range []int{last / 4, 0} {
		for _, find := range []func(string, int, []interval) int{lastBlankLine, lastNewline, lastSpace} {
			if at := find(text, last, taken); at > least {
				return at, skip(text, at)
			}
		}
	}
	return last, last
}

// The finders return where the last break of their kind up to byte last begins that
// is not taken by a span which is to stay whole, or 0. The character behind counts too:
// a break there costs nothing.

func lastBlankLine(text string, last int, taken []interval) int {
	newlines := 0
	for at := last; at > 0; at-- {
		switch {
		case breakAt(text, at) > 0:
			if newlines++; newlines >= 2 && free(at, taken) {
				return at
			}
		case at < len(text) && strings.IndexByte(blank, text[at]) >= 0:
		default:
			newlines = 0
		}
	}
	return 0
}

func lastNewline(text string, last int, taken []interval) int {
	for last > 0 && (breakAt(text, last) == 0 || !free(last, taken)) {
		last--
	}
	return last
}

func lastSpace(text string, last int, taken []interval) int {
	for last > 0 && (!spaceAt(text, last) || !free(last, taken) || joined(text, last)) {
		last--
	}
	return last
}

// An interval is where a text is not to be cut: behind from and before to.
type interval struct{ from, to int }

// inside lists the spans that stand whole in the next length bytes, and are not to be
// cut. A heading keeps what follows it.
func (s *splitter) inside(length int) []interval {
	if s.bare {
		return nil
	}
	var taken []interval
	add := func(o Span) bool {
		to := o.End - s.start
		switch {
		case o.Start >= s.start+length:
			return false
		case !o.Kind.whole() || to > length || len(taken) > 0 && to <= taken[len(taken)-1].to:
		case o.Kind == Heading:
			taken = append(taken, interval{o.Start - s.start, to + len("\n\n")})
		default:
			taken = append(taken, interval{o.Start - s.start, to})
		}
		return true
	}
	for _, o := range s.open {
		add(o)
	}
	for _, o := range s.spans {
		if !add(o) {
			break
		}
	}
	return taken
}

// free says whether a cut at byte at is in none of taken.
func free(at int, taken []interval) bool {
	i := sort.Search(len(taken), func(i int) bool { return taken[i].to > at })
	return i == len(taken) || taken[i].from >= at
}

// breakAt is the length of the line break that begins at byte i, or 0.
func breakAt(text string, i int) int {
	switch {
	case strings.HasPrefix(text[i:], "\r\n"):
		return 2
	case strings.HasPrefix(text[i:], "\n") && (i == 0 || text[i-1] != '\r'):
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

// trim is the length of text up to cut, the end of a character, without the white
// space at its end. A space may be part of a character, and is no white space then.
func trim(text string, cut int) int {
	for cut > 0 && strings.IndexByte(blank, text[cut-1]) >= 0 && !joined(text, cut-1) {
		cut--
	}
	return cut
}

// joined says whether the white space at byte i is part of the character before it:
// some scripts have signs that precede what they belong to.
func joined(text string, i int) bool {
	if i == 0 || text[i-1] < utf8.RuneSelf {
		return false
	}
	_, n := utf8.DecodeLastRuneInString(text[:i])
	seg := graphemes.FromString(text[i-n : i+1])
	return seg.Next() && len(seg.Value()) > n
}

// boundary is the last end of a character, as people see them, up to byte at, which
// begins a rune. Where a character ends is told by what stands before and by the next
// rune, so that it looks no further.
func boundary(text string, at int) int {
	from := at
	for from > 0 && from < len(text) && !apart(text, from) {
		from--
	}
	if from == at {
		return at
	}
	end := from
	for seg := graphemes.FromString(text[from:runeEnd(text, at+1)]); seg.Next(); {
		if end+len(seg.Value()) > at {
			break
		}
		end += len(seg.Value())
	}
	return end
}

// apart says whether byte i certainly begins a character.
func apart(text string, i int) bool {
	return text[i-1] < utf8.RuneSelf && text[i] < utf8.RuneSelf && (text[i-1] != '\r' || text[i] != '\n')
}
