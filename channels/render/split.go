package render

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Split cuts t into pieces of which size is at most limit each: what the emitter
// makes of a piece, marks and all, in the platform's unit. It cuts at a blank line if
// it can, else at a line break, at a space, and last between two characters as people
// see them. A span of a kind below Quote is not cut if it fits a piece by itself. The
// spans that are cut go on in the next piece, Continued. White space at a cut is
// dropped, everything else is kept in order, and no piece is blank unless the whole
// text is. A limit of 0 or less means one piece.
//
// Spans whose marks would take more than half of a piece are left out of it. A single
// character as people see it that is longer than the limit is cut between its runes;
// a single rune longer than the limit is a piece of its own, the one case where a
// piece measures more.
func (t Text) Split(limit int, size func(Text) int) []Text {
	if limit <= 0 || size(t) <= limit {
		return []Text{t}
	}
	s := splitter{limit: limit, size: size, text: t.Text, spans: t.Spans, guess: min(limit, len(t.Text))}
	return slices.Collect(s.pieces)
}

// blank is the white space that may be dropped at a cut.
const blank = " \t\r\n"

type splitter struct {
	limit int
	size  func(Text) int
	gauge Gauge // what size tells, or nil
	text  string

	start int    // what is left of text begins here
	open  []Span // those that began before start and go on behind it
	spans []Span // those that begin at start or later
	bare  bool   // this piece has no spans

	guess int      // bytes that the last piece took
	told  measured // what the gauge holds
	ahead int      // how far the first piece may reach, if known; see reach
	ends  []int    // of the last window; kept for its memory
	room  []Span   // of the last piece that was measured; kept for its memory
}

// A told is a piece that was measured.
type measured struct {
	start, end int
	bare       bool
}

// unmeasured is none.
var unmeasured = measured{end: -1}

func (s *splitter) pieces(yield func(Text) bool) {
	some := false
	for s.start < len(s.text) || len(s.spans) > 0 {
		piece := s.next()
		if strings.Trim(piece.Text, blank) == "" && !slices.ContainsFunc(piece.Spans, empty) {
			continue
		}
		if some = true; !yield(piece) {
			return
		}
	}
	if !some {
		s.size(Text{})
		yield(Text{})
	}
}

// next takes one piece off the text. Its work is bounded by the length of the piece,
// whatever the characters and whatever the measure.
func (s *splitter) next() Text {
	s.bare = s.marksTakeAll()
	if s.start == len(s.text) { // an empty item is left
		s.bare = !s.fits(s.start, 0)
		return s.take(0, 0)
	}
	if cut, resume, ok := s.poured(); ok {
		return s.take(cut, resume)
	}
	ends := s.window(s.start)
	if len(ends) == 0 && !s.bare {
		s.bare = true
		ends = s.window(s.start)
	}
	if len(ends) == 0 {
		return s.take(s.force(), 0)
	}
	last := ends[len(ends)-1]
	cut, resume := s.place(last)
	// A measure need not grow with its text; the limit holds all the same. What the
	// window ends with is known to fit.
	if !s.fits(s.start, cut) {
		cut, resume = last, last
	}
	s.guess = max(cut, 1)
	return s.take(cut, resume)
}

// place is where to cut off a piece of at most last bytes, the end of a character,
// and where the text goes on.
func (s *splitter) place(last int) (cut, resume int) {
	text := s.text[s.start:]
	cut, resume = last, last
	if last < len(text) {
		last = s.whole(last)
		cut, resume = s.choose(text, last)
	}
	before, behind := s.empties(cut)
	return max(trim(text, cut), before), min(resume, behind)
}

// take makes a piece of the next cut bytes, and goes on after resume, or cut.
func (s *splitter) take(cut, resume int) Text {
	if s.gauge != nil && s.told != (measured{s.start, s.start + cut, s.bare}) {
		s.measure(s.start, cut)
	}
	piece := s.piece(s.start, cut)
	piece.Spans = slices.Clone(piece.Spans)
	end := s.start + cut
	s.start += max(cut, resume)
	s.open = slices.DeleteFunc(s.open, func(o Span) bool { return o.End <= s.start })
	for len(s.spans) > 0 {
		o := s.spans[0]
		if o.Start >= s.start && (!empty(o) || o.Start > end) {
			break
		}
		if o.End > s.start {
			s.open = append(s.open, o)
		}
		s.spans = s.spans[1:]
	}
	return piece
}

// piece is the length bytes from start on; its spans are valid until the next one.
func (s *splitter) piece(start, length int) Text {
	t := Text{Text: s.text[start : start+length]}
	if s.bare {
		return t
	}
	if length == len(s.text) { // nothing to clip
		t.Spans = s.spans
		return t
	}
	s.room = s.room[:0]
	for _, o := range s.open {
		if o, ok := o.clip(start, start+length); ok {
			s.room = append(s.room, o)
		}
	}
	for _, o := range s.spans {
		if o.Start > start+length {
			break
		}
		if o, ok := o.clip(start, start+length); ok {
			s.room = append(s.room, o)
		}
	}
	t.Spans = s.room
	return t
}

// empty says whether s has no text.
func empty(s Span) bool { return s.Start == s.End }

// empties says where the last empty span up to cut stands, and the first one behind.
// They are to be seen: no white space around them is dropped.
func (s *splitter) empties(cut int) (before, behind int) {
	for _, o := range s.spans {
		if at := o.Start - s.start; at > cut {
			if empty(o) {
				return before, at
			}
			break
		} else if empty(o) {
			before = at
		}
	}
	return before, len(s.text)
}

func (s *splitter) fits(start, length int) bool { return s.measure(start, length) <= s.limit }

// measure is the size of the length bytes from start on.
func (s *splitter) measure(start, length int) int {
	s.told = measured{start, start + length, s.bare}
	return s.size(s.piece(start, length))
}

// marksTakeAll says whether the marks around the next character take more than half
// of a piece. A few marks repeated in every piece could outgrow the text.
func (s *splitter) marksTakeAll() bool {
	s.bare = false
	_, n := utf8.DecodeRuneInString(s.text[s.start:])
	t := s.piece(s.start, n)
	if len(t.Spans) == 0 {
		return false
	}
	s.told = unmeasured
	return s.size(t)-s.size(Text{Text: t.Text}) > s.limit/2
}

// window lists the ends of the characters from start on that fit together. It looks
// no further than about a quarter beyond what fits: a character may be as long as the
// text, and must not be walked through again for every piece cut off it.
func (s *splitter) window(start int) []int {
	text := s.text[start:]
	for bound := s.guess + s.guess/4 + 64; ; bound *= 2 {
		bound = runeEnd(text, bound)
		s.ends = characters(s.ends[:0], text[:bound])
		if bound < len(text) && len(s.ends) > 0 { // the last one may go on
			s.ends = s.ends[:len(s.ends)-1]
		}
		n := s.fit(start, s.ends)
		if bound == len(text) || n < len(s.ends) || !s.fits(start, bound) {
			return s.ends[:n]
		}
	}
}

// characters adds the ends of the characters of text, as people see them, to ends.
func characters(ends []int, text string) []int {
	ends = slices.Grow(ends, len(text))
	for at := 0; at < len(text); {
		if text[at] < utf8.RuneSelf && text[at] != '\r' && (at+1 == len(text) || text[at+1] < utf8.RuneSelf) {
			at++
		} else {
			seg := graphemes.FromString(text[at:])
			seg.Next()
			at += len(seg.Value())
		}
		ends = append(ends, at)
	}
	return ends
}

// fit is how many of the lengths in ends fit, from start on. The last one counted
// has been measured itself. Sizes grow about evenly with the length, so that the
// first steps go where the end ought to be; the others halve what is left.
func (s *splitter) fit(start int, ends []int) int {
	const guesses = 5
	low, high := 0, len(ends)+1 // so many fit; so many do not
	n := min(sort.SearchInts(ends, s.guess)+1, len(ends))
	for step := 1; high-low > 1; step++ {
		size := s.measure(start, ends[n-1])
		if size <= s.limit {
			low = n
		} else {
			high = n
		}
		if size == s.limit {
			return low
		}
		if step < guesses && size > 0 {
			n = min(max(n+(s.limit-size)*n/size, low+1), high-1)
		} else {
			n = (low + high) / 2
		}
	}
	return low
}

// whole is last, or the last end of a character before a span that is cut there and
// need not be, because it fits the next piece whole.
func (s *splitter) whole(last int) int {
	if s.bare {
		return last
	}
	end := s.start + last
	for _, o := range s.spans {
		if o.Start >= end {
			break
		}
		if o.Start <= s.start || o.End <= end || !o.Kind.whole() || !s.fits(o.Start, o.End-o.Start) {
			continue
		}
		if n := boundary(s.text[s.start:], o.Start-s.start); n > 0 && strings.Trim(s.text[s.start:o.Start], blank) != "" {
			return n
		}
	}
	return last
}

// runeEnd is the end of the rune that byte i of text is in, at most len(text).
func runeEnd(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return min(i, len(text))
}

// force is the length of as many runes as fit, at least one, where not one whole
// character does.
func (s *splitter) force() int {
	text := s.text[s.start:]
	bound := 64
	for bound < len(text) && s.fits(s.start, runeEnd(text, bound)) {
		bound *= 2
	}
	s.ends = s.ends[:0]
	for i := range text[:runeEnd(text, bound)] {
		if i > 0 {
			s.ends = append(s.ends, i)
		}
	}
	if n := s.fit(s.start, s.ends); n > 0 {
		return s.ends[n-1]
	}
	_, end := utf8.DecodeRuneInString(text)
	return end
}
