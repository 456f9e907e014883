package render

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// cells measures independently of this machine's locale: an ambiguous character
// takes one cell, an emoji two, and what is joined to one character counts once.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is how many cells of a terminal s takes.
func Width(s string) int { return cells.StringWidth(s) }

// table writes a table in columns, or its rows as blocks of "column: value" when
// the columns are too wide, or hold links, which are none in columns.
func (l *layout) table(n *extast.Table) {
	var rows [][]Text
	live := false
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []Text
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cell := l.cell(c)
			live = live || slices.ContainsFunc(cell.Spans, func(s Span) bool { return s.Kind == Link && s.Value != "" })
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return
	}
	if live || !l.columns(rows, n.Alignments) {
		l.records(rows)
	}
}

// cell is the text of one cell, in one line.
func (l *layout) cell(n ast.Node) Text {
	if l.cells == nil {
		l.cells = &layout{style: l.style, source: l.source, notes: l.notes, budget: l.budget, oneLine: true}
	}
	c := l.cells
	c.buf, c.spans, c.space, c.started = c.buf[:0], c.spans[:0], c.space[:0], false
	c.inline(n)
	return Text{string(c.buf), slices.Clone(c.spans)}
}

// cellText is how a cell is written in columns.
func (l *layout) cellText(t Text) string {
	if l.style.plain {
		return new(plainer).text(t)
	}
	return t.Text
}

// columns writes rows in columns, if they are narrow enough.
func (l *layout) columns(rows [][]Text, alignments []extast.Alignment) bool {
	widths := make([]int, len(rows[0]))
	lines := make([][]string, len(rows))
	for i, row := range rows {
		for c, cell := range row {
			s := strings.Join(strings.Fields(l.cellText(cell)), " ")
			lines[i] = append(lines[i], s)
			if c < len(widths) {
				widths[c] = max(widths[c], Width(s), 1)
			}
		}
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for _, at := range l.open {
		total += max(l.spans[at].Indent, 2)
	}
	if total > l.style.TableWidth {
		return false
	}
	l.enter(Span{Kind: Table})
	for i, row := range lines {
		l.tableLine(columns(row, widths, alignments))
		if i == 0 {
			l.tableLine(rule(widths))
		}
	}
	l.leave(false)
	return true
}

// tableLine writes a line whose spaces count.
func (l *layout) tableLine(s string) {
	l.space = l.space[:0]
	if l.waiting == 0 {
		l.lines = 1
	}
	l.begin()
	l.buf = append(l.buf, s...)
}

// records writes every row as lines "column: value" with a blank line between
// rows. Empty cells are left out: a parsed row is filled up to the header's length,
// so that a short text could grow without bound. A table of a header alone shows
// its header, and so does one whose header would outgrow everything else, each row
// on a line of its own.
func (l *layout) records(rows [][]Text) {
	header := rows[0]
	if len(rows) == 1 || !l.again(names(rows)) {
		for _, row := range rows {
			l.flat(row)
		}
		return
	}
	for r, row := range rows[1:] {
		if r > 0 {
			l.apart(2)
		}
		for i, value := range row {
			if value.Text == "" {
				continue
			}
			if i < len(header) && header[i].Text != "" {
				l.in(Span{Kind: Bold}, func() { l.put(header[i]) })
				l.write([]byte(": "))
			}
			l.put(value)
			l.apart(1)
		}
	}
}

// flat writes a row in one line.
func (l *layout) flat(row []Text) {
	for len(row) > 0 && row[len(row)-1].Text == "" {
		row = row[:len(row)-1]
	}
	for i, cell := range row {
		if i > 0 {
			l.write([]byte(" | "))
		}
		l.put(cell)
	}
	l.apart(1)
}

// names is how many bytes the header's cells take when each names its values.
func names(rows [][]Text) int {
	size := 0
	for _, row := range rows[1:] {
		for i, value := range row {
			if value.Text != "" && i < len(rows[0]) {
				size += len(rows[0][i].Text)
				for _, s := range rows[0][i].Spans {
					size += len(s.Value) + spanCost
				}
			}
		}
	}
	return size
}

// spanCost is what a span repeated counts against the bound, besides its value.
const spanCost = 16

func columns(row []string, widths []int, alignments []extast.Alignment) string {
	out := make([]string, len(widths))
	for i, w := range widths {
		var value string
		if i < len(row) {
			value = row[i]
		}
		left, right := 0, w-Width(value)
		if i < len(alignments) {
			switch alignments[i] {
			case extast.AlignRight:
				left, right = right, 0
			case extast.AlignCenter:
				left, right = right/2, right-right/2
			case extast.AlignLeft, extast.AlignNone:
			}
		}
		out[i] = strings.Repeat(" ", left) + value + strings.Repeat(" ", right)
	}
	return strings.TrimRight(strings.Join(out, " | "), " ")
}

func rule(widths []int) string {
	out := make([]string, len(widths))
	for i, w := range widths {
		out[i] = strings.Repeat("-", w)
	}
	return strings.Join(out, "-+-")
}
