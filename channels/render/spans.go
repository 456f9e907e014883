package render

import (
	"sort"
	"strings"
	"sync"
)

// A Kind says what a Span means.
type Kind uint8

const (
	Bold    Kind = iota + 1
	Italic       // stressed
	Strike       // struck out
	Spoiler      // hidden until touched
	Code         // a few words of code within a line
	Link         // Value is the address; empty when it stands in the text, or is not to be shown
	Heading      // Level says of which order, from 1
	Pre          // lines of code; Value is the language, may be empty
	Table        // lines in columns, for a face whose characters are equally wide
	Quote        // whole lines
	Item         // of a list, whole lines; Value is its mark, e.g. "3. "
	kinds
)

// Block says whether spans of this kind begin and end with lines.
func (k Kind) Block() bool { return k >= Heading }

// whole says whether such a span is better not cut. A heading is, too: its text
// belongs together.
func (k Kind) whole() bool { return k <= Table }

// A Span is what a stretch of a Text means.
type Span struct {
	Start, End int // bytes of Text.Text
	Kind       Kind
	Value      string // see Kind
	Level      int    // Heading: its order; Item, Quote: how many of these it stands in
	Indent     int    // Item: how far its further lines stand in, in characters
	Continued  bool   // it began in an earlier piece
}

// A Text is a laid out document, or a piece of one: the characters people read, and
// what stretches of them mean. There is no markup in it, and nothing in front of
// lines: the marks of items and the way quotes are shown are the emitter's.
//
// Spans are sorted by Start and contain one another or lie apart; the outer one
// comes first. In a whole document no span of a kind up to Heading begins or ends with
// white space, holds another of its kind, or holds a block; and none is empty but an
// Item or Pre without text, and what holds nothing else.
type Text struct {
	Text  string
	Spans []Span
}

// An Emitter is told a Text in order; see Text.Emit.
type Emitter interface {
	// Open and Close begin and end a span that stands in the spans in, the outermost
	// first. An Item or Quote opens where a line begins.
	Open(s Span, in []Span)
	Close(s Span, in []Span)
	// Line ends a line, and begins another one in the spans in.
	Line(in []Span)
	// Write adds characters, without a line break.
	Write(s string)
}

// Indent stands in front of an item's further lines, and InnerQuote in front of the lines of a
// quote in a quote, where the platform shows an outermost quote itself.
const (
	Indent     = "    "
	InnerQuote = "> "
)

// Front is what stands in front of a line in these spans. What a quote stands in is to the left of
// it, not in its lines.
func Front(in []Span) (front string) {
	quoted := false
	for _, s := range in {
		switch {
		case s.Kind == Item:
			front += Indent
		case s.Kind == Quote && quoted:
			front += InnerQuote
		case s.Kind == Quote:
			front, quoted = "", true
		}
	}
	return front
}

// Margin is Front where all characters are equally wide and nothing is shown by itself.
func Margin(in []Span) (front string) {
	for _, s := range in {
		switch s.Kind {
		case Item:
			front += strings.Repeat(" ", s.Indent)
		case Quote:
			front += InnerQuote
		default:
		}
	}
	return front
}

// stacks keeps the memory of Emit, which a splitter calls a dozen times a piece.
var stacks = sync.Pool{New: func() any { return new([]Span) }}

// Emit tells e what t holds. The emitter must not keep the slices it is given.
func (t Text) Emit(e Emitter) {
	never := false
	t.emit(e, &never)
}

// emit is Emit until stop is set.
func (t Text) emit(e Emitter, stop *bool) {
	if len(t.Spans) == 0 {
		emitLines(t.Text, 0, len(t.Text), e, nil, stop)
		return
	}
	room := stacks.Get().(*[]Span)
	open := (*room)[:0]
	defer func() { *room = open; stacks.Put(room) }()
	spans, at := t.Spans, 0
	for !*stop {
		for len(open) > 0 && open[len(open)-1].End <= at && !holdsNext(open[len(open)-1], spans) {
			e.Close(open[len(open)-1], open[:len(open)-1])
			open = open[:len(open)-1]
		}
		if len(spans) > 0 && spans[0].Start <= at {
			e.Open(spans[0], open)
			open, spans = append(open, spans[0]), spans[1:]
			continue
		}
		if at >= len(t.Text) {
			return
		}
		end := len(t.Text)
		if len(spans) > 0 {
			end = min(end, spans[0].Start)
		}
		if len(open) > 0 {
			end = min(end, open[len(open)-1].End)
		}
		at = emitLines(t.Text, at, end, e, open, stop)
	}
}

// holdsNext says whether the next span is an empty block at the end of s.
func holdsNext(s Span, next []Span) bool {
	return s.Kind.Block() && len(next) > 0 && next[0].Start == s.End && next[0].End == s.End
}

func emitLines(text string, at, end int, e Emitter, open []Span, stop *bool) int {
	for at < end && !*stop {
		n := strings.IndexByte(text[at:end], '\n')
		if n < 0 {
			n = end - at
		}
		if n > 0 {
			e.Write(text[at : at+n])
		}
		if at += n; at < end {
			e.Line(open)
			at++
		}
	}
	return at
}

// clip is what is left of s between start and end, counted from start.
func (s Span) clip(start, end int) (Span, bool) {
	if empty(s) {
		if s.Start < start || s.Start > end {
			return Span{}, false
		}
	} else if s.Start >= end || s.End <= start || start == end {
		return Span{}, false
	}
	if s.Start < start {
		s.Continued = true
	}
	s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start
	return s, true
}

// apply is t without what m finds in it. A span that begins or ends within what is replaced
// goes as far as the placeholder; one that stands in it is left out.
func (m *Mask) apply(t Text) Text {
	if m == nil {
		return t
	}
	found, upTo := m.Find(t.Text)
	for i := range t.Spans {
		if in, end := m.Find(t.Spans[i].Value); len(in) > 0 || end < len(t.Spans[i].Value) {
			t.Spans[i].Value = ""
		}
	}
	if len(found) == 0 && upTo == len(t.Text) {
		return t
	}
	var out strings.Builder
	from, shift := 0, make([]int, 1, len(found)+1) // how far what follows each of them has moved
	for _, f := range found {
		out.WriteString(t.Text[from:f[0]])
		out.WriteString(m.Placeholder)
		from = f[1]
		shift = append(shift, out.Len()-from)
	}
	out.WriteString(t.Text[from:upTo])
	masked := Text{Text: out.String()}
	if upTo < len(t.Text) && strings.TrimSpace(masked.Text) == "" {
		return Text{Text: "…"}
	}
	// at is where byte i of t.Text is now; inside of what is replaced that is one of its ends.
	at := func(i int, end bool) int {
		i = min(i, upTo)
		n := sort.Search(len(found), func(n int) bool { return found[n][1] >= i })
		switch {
		case n == len(found) || i <= found[n][0]:
			return i + shift[n]
		case end && i < found[n][1]:
			return found[n][0] + shift[n]
		}
		return found[n][1] + shift[n+1]
	}
	for _, s := range t.Spans {
		was := s
		s.Start, s.End = at(s.Start, false), at(s.End, true)
		if s.Start < s.End || empty(was) && s.Start == s.End {
			masked.Spans = append(masked.Spans, s)
		}
	}
	return masked
}
