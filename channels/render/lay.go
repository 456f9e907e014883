package render

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// A Style is what a platform decides about the characters of a text, before any
// markup: its marks of lists, and what can be a link.
type Style struct {
	Bullets    []string // marks of list items by depth; the last one repeats
	Done, Open string   // marks of tasks
	Rule       string   // the line between two sections
	// TableWidth is the widest table drawn in columns, in cells. Wider ones become
	// lines "column: value".
	TableWidth int
	// plain, for text without any markup: headings of the first two orders get a line
	// below, cells of tables have the marks of plain text, and control characters stay
	// as they are; platforms drop them, and what is counted would be wrong.
	plain bool
	// Link says whether text can be a link to address. Otherwise, and when it is nil,
	// the address is written behind the text.
	Link func(address string) bool
}

// Rich is the style of a platform whose apps show marks of their own. What may be a link there link says;
// width is that of tables.
func Rich(width int, link func(address string) bool, bullets ...string) Style {
	return Style{Bullets: bullets, Done: "☑ ", Open: "☐ ", Rule: "———", TableWidth: width, Link: link}
}

// maxNesting is how deep quotes and lists are shown as such. Text nested deeper
// is written at that depth: without the bound, 30,000 quote marks followed by
// as many lines would grow to a gigabyte.
const maxNesting = 10

// Lay puts the document into lines. Its length, and what all its spans hold, is
// linear in the length of what was parsed. Text and Style may be shared.
func (d *Document) Lay(style *Style) Text {
	l := &layout{style: style, source: d.source, notes: d.notes, budget: &budget{room: 4096 + 8*len(d.source)}}
	l.buf = make([]byte, 0, len(d.source)+len(d.source)/8)
	l.spans = make([]Span, 0, len(d.source)/64)
	l.blocks(d.root)
	return d.mask.apply(Text{string(l.buf), l.spans})
}

// A layout is a Text that grows. White space is owed until a character follows it,
// so that nothing begins or ends with it; so are spans until they have one.
type layout struct {
	style  *Style
	source []byte
	notes  map[string]string
	*budget

	buf     []byte
	spans   []Span
	open    []int // indexes of the open spans, the outermost first
	waiting int   // how many of them, innermost, have no character yet
	started bool  // something stands in buf, be it an empty item
	lines   int   // line breaks owed
	space   []byte
	on      [kinds]int // open spans by kind
	oneLine bool       // line breaks are spaces here
	leaf    int        // where the text of this paragraph, heading or cell begins
	scratch []byte
	cells   *layout // for the cells of tables, one after the other
}

// A budget bounds what is written more than once.
type budget struct {
	room  int
	shown map[*byte]bool // addresses of definitions, by where they stand in the source
}

// again says whether there is room to write size bytes that are written elsewhere
// too, and takes it. Without the bound a short text could grow with its square.
func (b *budget) again(size int) bool {
	if size > b.room {
		return false
	}
	b.room -= size
	return true
}

// begin pays what is owed before a character.
func (l *layout) begin() {
	if l.started {
		for ; l.lines > 0; l.lines-- {
			l.buf = append(l.buf, '\n')
		}
		l.buf = append(l.buf, l.space...)
	}
	l.started, l.lines, l.space = true, 0, l.space[:0]
	for ; l.waiting > 0; l.waiting-- {
		l.spans[l.open[len(l.open)-l.waiting]].Start = len(l.buf)
	}
}

// enter opens a span; it begins with the next character.
func (l *layout) enter(s Span) {
	l.open = append(l.open, len(l.spans))
	l.spans = append(l.spans, s)
	l.waiting++
	l.on[s.Kind]++
}

// leave closes the innermost span. One without a character was never there, unless
// it is to be seen all the same.
func (l *layout) leave(empty bool) {
	last := len(l.open) - 1
	at := l.open[last]
	if l.waiting > 0 && empty {
		l.begin()
	}
	l.on[l.spans[at].Kind]--
	if l.waiting > 0 {
		l.waiting--
		l.spans = l.spans[:at]
	} else {
		l.spans[at].End = len(l.buf)
	}
	l.open = l.open[:last]
}

// in writes what fill writes as a span, unless it stands in one of its kind.
func (l *layout) in(s Span, fill func()) {
	if l.on[s.Kind] > 0 {
		fill()
		return
	}
	l.enter(s)
	fill()
	l.leave(false)
}

// apart starts a new line, n line breaks below what stands there. It is no use while
// a block waits for its first character.
func (l *layout) apart(n int) {
	if l.waiting == 0 {
		l.lines, l.space = n, l.space[:0]
	}
}

// newline breaks the line within a paragraph.
func (l *layout) newline() {
	switch {
	case l.oneLine:
		l.space = append(l.space[:0], ' ')
	case len(l.buf) > l.leaf:
		l.lines, l.space = l.lines+1, l.space[:0]
	}
}

// write adds text as people read it.
func (l *layout) write(s []byte) {
	for {
		line, rest, more := bytes.Cut(s, []byte{'\n'})
		l.words(line)
		if !more {
			return
		}
		l.newline()
		s = rest
	}
}

func (l *layout) words(s []byte) {
	s = l.printable(s)
	from, to := 0, len(s)
	for from < to && blankByte(s[from]) {
		from++
	}
	for to > from && blankByte(s[to-1]) {
		to--
	}
	// Where the outermost span that waits is a block, its first line has not begun.
	if l.waiting == 0 || !l.spans[l.open[len(l.open)-l.waiting]].Kind.Block() {
		l.space = append(l.space, s[:from]...)
	}
	if from == to {
		return
	}
	l.begin()
	l.buf = append(l.buf, s[from:to]...)
	l.space = append(l.space, s[to:]...)
}

func blankByte(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// printable is s without control characters.
func (l *layout) printable(s []byte) []byte {
	if l.style.plain {
		return s
	}
	for i := range s {
		if control(s[i]) {
			return slices.DeleteFunc(slices.Clone(s), control)
		}
	}
	return s
}

func control(c byte) bool { return c < ' ' && c != '\t' && c != '\n' || c == 0x7F }

// put adds a text that was laid out by itself.
func (l *layout) put(t Text) {
	if t.Text == "" {
		return
	}
	l.begin()
	at := len(l.buf)
	for _, s := range t.Spans {
		if l.on[s.Kind] == 0 {
			s.Start, s.End = s.Start+at, s.End+at
			l.spans = append(l.spans, s)
		}
	}
	l.buf = append(l.buf, t.Text...)
}

// blocks writes the children of n, with blank lines between them where they stand
// apart.
func (l *layout) blocks(n ast.Node) {
	gap := 2
	switch n := n.(type) {
	case *ast.List:
		gap = spacing(n)
	case *ast.ListItem:
		if list, ok := n.Parent().(*ast.List); ok {
			gap = spacing(list)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindLinkReferenceDefinition {
			continue
		}
		if c.PreviousSibling() != nil {
			l.apart(gap)
		}
		l.one(c)
	}
}

func spacing(n *ast.List) int {
	if n.IsTight {
		return 1
	}
	return 2
}
