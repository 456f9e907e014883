package render

import (
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// cells measures independently of this machine's locale: an ambiguous character
// takes one cell, an emoji two.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// width is how many terminal cells s takes.
func width(s string) int { return cells.StringWidth(s) }

// table writes a table in columns, or its rows as blocks of "column: value" when
// the columns take more than tableWidth.
func (p *plain) table(n *extast.Table) {
	var rows [][]string
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		rows = append(rows, p.row(r))
	}
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	total := 3 * (len(widths) - 1)
	for i := range widths {
		for _, row := range rows {
			if i < len(row) {
				widths[i] = max(widths[i], width(row[i]))
			}
		}
		widths[i] = max(widths[i], 1)
		total += widths[i]
	}
	if total+width(p.indent) > tableWidth {
		p.records(rows)
		return
	}
	for i, row := range rows {
		p.line(columns(row, widths, n.Alignments))
		if i == 0 {
			p.line(rule(widths))
		}
	}
}

func (p *plain) row(n ast.Node) []string {
	var row []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		row = append(row, strings.Join(strings.Fields(p.inline(c)), " "))
	}
	return row
}

// records writes every row as lines "column: value" with a blank line between
// rows. Empty cells are left out: a parsed row is filled up to the header's length,
// so that a short text could grow without bound. A table of a header alone shows
// its header, and so does one whose header would outgrow everything else, each row
// on a line of its own.
func (p *plain) records(rows [][]string) {
	header := rows[0]
	if len(rows) == 1 {
		p.line(strings.Join(header, " | "))
		return
	}
	if !p.again(names(rows)) {
		for _, row := range rows {
			for len(row) > 0 && row[len(row)-1] == "" {
				row = row[:len(row)-1]
			}
			p.line(strings.Join(row, " | "))
		}
		return
	}
	for r, row := range rows[1:] {
		if r > 0 {
			p.line("")
		}
		for i, value := range row {
			switch {
			case value == "":
			case i < len(header) && header[i] != "":
				p.line(header[i] + ": " + value)
			default:
				p.line(value)
			}
		}
	}
}

// names is how many bytes the header's cells take when each names its values.
func names(rows [][]string) int {
	size := 0
	for _, row := range rows[1:] {
		for i, value := range row {
			if value != "" && i < len(rows[0]) {
				size += len(rows[0][i])
			}
		}
	}
	return size
}

func columns(row []string, widths []int, alignments []extast.Alignment) string {
	out := make([]string, len(widths))
	for i, w := range widths {
		var value string
		if i < len(row) {
			value = row[i]
		}
		left, right := 0, w-width(value)
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
