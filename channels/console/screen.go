package console

import (
	"fmt"
	"io"
	"strings"
)

// Sizes of a terminal that does not say its own.
const (
	usualWidth  = 80
	usualHeight = 24
)

// screen draws the line being written, and prints above it. It is used by one
// goroutine. Its output is for a raw terminal: lines end with CR LF.
type screen struct {
	out           io.Writer
	width, height int

	rows   []int // how wide the rows are that stand there
	cursor place // where it was left in them
}

func newScreen(out io.Writer) *screen {
	return &screen{out: out, width: usualWidth, height: usualHeight}
}

// draw replaces what stands there by a prompt and a text, with the cursor at byte
// at of the text, behind above, which stays.
func (s *screen) draw(above, before, text string, at int) {
	var out strings.Builder
	s.erase(&out)
	out.WriteString(strings.ReplaceAll(above, "\n", "\r\n"))
	rows, cursor := layout(before, text, at, s.width)
	if most := max(1, s.height-1); len(rows) > most { // what scrolled off cannot be erased
		first := max(0, cursor.row-most+1)
		rows = rows[first:min(len(rows), first+most)]
		cursor.row -= first
	}
	s.rows = s.rows[:0]
	for i, row := range rows {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(row)
		s.rows = append(s.rows, width(row))
	}
	if end := (place{len(rows) - 1, s.rows[len(rows)-1]}); cursor != end {
		move(&out, end.row-cursor.row, 'A')
		out.WriteByte('\r')
		move(&out, cursor.column, 'C')
	}
	s.cursor = cursor
	_, _ = io.WriteString(s.out, out.String()) // the terminal is gone: reading from it says so
}

// finish leaves what stands there and goes on below it.
func (s *screen) finish() {
	var out strings.Builder
	move(&out, len(s.rows)-1-s.cursor.row, 'B')
	out.WriteString("\r\n")
	s.rows, s.cursor = nil, place{}
	_, _ = io.WriteString(s.out, out.String())
}

// remove takes away what stands there.
func (s *screen) remove() {
	var out strings.Builder
	s.erase(&out)
	s.rows, s.cursor = nil, place{}
	_, _ = io.WriteString(s.out, out.String())
}

// erase takes away what stands there. In a window that became narrower the rows
// take more lines than they were drawn on.
func (s *screen) erase(out *strings.Builder) {
	up := s.cursor.column / s.width
	for _, w := range s.rows[:min(s.cursor.row, len(s.rows))] {
		up += max(1, (w+s.width-1)/s.width)
	}
	move(out, up, 'A')
	out.WriteString("\r\x1b[J")
}

func move(out *strings.Builder, n int, direction byte) {
	if n > 0 {
		fmt.Fprintf(out, "\x1b[%d%c", n, direction)
	}
}
