package console

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/term"

	"switchboard/channels/render"
	"switchboard/internal/words"
)

// tabStop is how far apart the columns are that a tab leads to.
const tabStop = 8

// width is how many cells s takes, however it looks.
func width(s string) int { return render.Width(unstyled(s)) }

// Fit is text for the terminal out: its lines are broken between words where they are
// wider than the window.
func Fit(out any, text string) string {
	limit := usualWidth
	if width, _, err := term.GetSize(descriptor(out)); err == nil && width > 0 {
		limit = width
	}
	return wrap(text, limit)
}

// wrap breaks the lines of s that are wider than limit cells at spaces, between
// wide characters, and within a word only where it has no line to fit on. Tabs
// become spaces.
func wrap(s string, limit int) string {
	var rows []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = untab(line); width(line) <= limit {
			rows = append(rows, line)
			continue
		}
		for _, row := range breaks(line, limit) {
			rows = append(rows, line[row.from:row.to])
		}
	}
	return strings.Join(rows, "\n")
}

// stretch is bytes of a line.
type stretch struct{ from, to int }

// breaks are the rows of a line without tabs; the spaces between two are in neither.
func breaks(line string, limit int) (rows []stretch) {
	var row stretch
	at, column, space := 0, 0, 0 // space waits to see whether a word follows on this row
	for _, piece := range pieces(line) {
		w, from := width(piece), at
		at += len(piece)
		if strings.TrimLeft(piece, " ") == "" {
			space = len(piece)
			continue
		}
		switch {
		case column > 0 && column+space+w > limit:
			rows = append(rows, row)
			row.from, column = from, 0
		case space+w <= limit || column > 0:
			column += space
		default:
			row.from = from
		}
		space, row.to = 0, from
		for each := graphemes.FromString(piece); each.Next(); {
			w := width(each.Value())
			if column > 0 && column+w > limit {
				rows = append(rows, row)
				row.from, column = row.to, 0
			}
			column += w
			row.to += len(each.Value())
		}
	}
	return append(rows, row)
}

// pieces cuts a line into runs of spaces, words, and single wide characters, which
// may stand at a line's beginning each.
func pieces(line string) (found []string) {
	last := 'w'
	for each := graphemes.FromString(line); each.Next(); {
		cluster, kind := each.Value(), 'a'
		switch {
		case cluster == " ":
			kind = ' '
		case width(cluster) > 1:
			kind = 'w'
		}
		if kind == last && kind != 'w' {
			found[len(found)-1] += cluster
		} else {
			found = append(found, cluster)
		}
		last = kind
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

// show is Markdown as it may be printed. Answers quote text from outside, which
// could hold sequences that command the terminal.
func show(markdown string) string { return Printable(render.Parse(markdown).Plain()) }

// escapes are the sequences that command a terminal: control sequences, strings whose end
// is on their line, and single characters behind an escape, or it alone.
//
// Source: ECMA-48, 5.4 "Control sequences", 5.6 "Control strings".
var escapes = words.Pattern("(?:\x1b\\[|\u009b)[ -?]*[@-~]?" +
	"|\x1b[\\]P_^X](?:[^\n\x07\u009c]*?(?:\x07|\u009c|\x1b\\\\))?|\x1b[0-~]?")

// Printable is s without control characters but line breaks and tabs, and without
// escape sequences, whole where their end can be found: nothing in it commands a
// terminal. Nor does it hold what turns the direction of the text next to it. What is no UTF-8 becomes U+FFFD.
func Printable(s string) string {
	if strings.ContainsAny(s, "\x1b\u009b") {
		// Of runes, or two bytes that are none could become one by what is taken from between.
		s = escapes().ReplaceAllLiteralString(string([]rune(s)), "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) && r >= 0x202a:
			return -1
		}
		return r
	}, s)
}

// oneLine is s on one line, cut to limit runes.
func oneLine(s string, limit int) string {
	return words.OneLine(Printable(s), limit)
}
