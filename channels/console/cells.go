package console

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// cells measures independently of this machine's locale: an ambiguous character
// takes one cell, an emoji two, and what is joined to one character counts once.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// tabStop is how far apart the columns are that a tab leads to.
const tabStop = 8

// width is how many cells s takes.
func width(s string) int { return cells.StringWidth(s) }

// Fit is text for the terminal out: its lines are broken between words where they are
// wider than the window.
func Fit(out any, text string) string {
	limit := usualWidth
	if device, ok := out.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(device.Fd())); err == nil && width > 0 {
			limit = width
		}
	}
	return wrap(text, limit)
}

// wrap breaks the lines of s that are wider than limit cells at spaces, between
// wide characters, and within a word only where it has no line to fit on. Tabs
// become spaces.
func wrap(s string, limit int) string {
	var out strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		if line = untab(line); width(line) <= limit {
			out.WriteString(line)
			continue
		}
		wrapLine(&out, line, limit)
	}
	return out.String()
}

func wrapLine(out *strings.Builder, line string, limit int) {
	column := 0
	var space string // waits to see whether a word follows on this line
	for _, piece := range pieces(line) {
		w := width(piece)
		switch {
		case strings.TrimLeft(piece, " ") == "":
			space = piece
			continue
		case column > 0 && column+len(space)+w > limit:
			out.WriteByte('\n')
			column = 0
		case len(space)+w <= limit || column > 0:
			out.WriteString(space)
			column += len(space)
		}
		space = ""
		for each := graphemes.FromString(piece); each.Next(); {
			cluster := each.Value()
			if w := width(cluster); column > 0 && column+w > limit {
				out.WriteByte('\n')
				column = w
			} else {
				column += w
			}
			out.WriteString(cluster)
		}
	}
}

// pieces cuts a line into runs of spaces, words, and single wide characters, which
// may stand at a line's beginning each.
func pieces(line string) []string {
	var found []string
	last := ' '
	kind := func(cluster string) rune {
		switch {
		case cluster == " ":
			return ' '
		case width(cluster) > 1:
			return 'w'
		}
		return 'a'
	}
	for each := graphemes.FromString(line); each.Next(); {
		cluster := each.Value()
		k := kind(cluster)
		if len(found) > 0 && k == last && k != 'w' {
			found[len(found)-1] += cluster
		} else {
			found = append(found, cluster)
		}
		last = k
	}
	return found
}

func untab(line string) string {
	for {
		before, after, found := strings.Cut(line, "\t")
		if !found {
			return line
		}
		line = before + strings.Repeat(" ", tabStop-width(before)%tabStop) + after
	}
}

// place is a cell on the screen, counted from 0.
type place struct{ row, column int }

// layout puts a prompt and a text that is being written on rows of at most limit
// cells, and finds the cell of the text's byte at. Lines after a line break stand
// as far in as the prompt.
func layout(prompt, text string, at, limit int) (rows []string, cursor place) {
	row, column, found := prompt, width(prompt), false
	push := func(begin string) {
		rows = append(rows, row)
		row, column = begin, width(begin)
	}
	for each := graphemes.FromString(text); each.Next(); {
		cluster := each.Value()
		w := width(cluster)
		if cluster == "\t" {
			cluster, w = "    ", 4
		}
		if column+w > limit && cluster != "\n" {
			push("")
		}
		if !found && at < each.End() {
			cursor, found = place{len(rows), min(column, limit-1)}, true
		}
		if cluster == "\n" {
			push(strings.Repeat(" ", width(prompt)))
			continue
		}
		row += cluster
		column += w
	}
	if column >= limit {
		push("")
	}
	if !found {
		cursor = place{len(rows), column}
	}
	return append(rows, row), cursor
}
