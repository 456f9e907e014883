package console

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Sizes of a terminal that does not say its own.
const (
	usualWidth  = 80
	usualHeight = 24
)

// screen draws the line being written below what may still change, and prints above
// them. It is used by one goroutine. Its output is for a raw terminal: lines end with
// CR LF. A row that stands there already is left alone, so that nothing flickers.
type screen struct {
	out           io.Writer
	width, height int

	rows   []string // that stand there
	cursor place    // where it was left in them
	drawn  int      // how wide the window was
}

// A scene is what stands there: rows that may change with the next one, and below
// them a prompt and a text, with the cursor at byte at of the text.
type scene struct {
	live         []string // no wider than the window; the last ones, if not all have room
	before, text string
	at           int
}

// draw replaces what stands there by a scene, behind above, which stays.
func (s *screen) draw(above string, now scene) {
	rows, cursor := layout(now.before, now.text, now.at, s.width)
	most := max(1, s.height-1)
	if len(rows) > most { // what scrolled off cannot be erased
		first := max(0, cursor.row-most+1)
		rows = rows[first:min(len(rows), first+most)]
		cursor.row -= first
	}
	live := now.live
	if room := most - len(rows); len(live) > room {
		live = slices.Clone(live[len(live)-room:])
		for i := range min(1, room) {
			live[i] = "…"
		}
	}
	cursor.row += len(live)
	rows = slices.Concat(live, rows)

	if above == "" && s.drawn == s.width && cursor == s.cursor && slices.Equal(rows, s.rows) {
		return
	}
	var out strings.Builder
	if s.drawn != s.width { // the rows may stand on more lines than they were drawn on
		s.erase(&out)
	}
	fresh := rows
	if above != "" {
		fresh = append(strings.Split(strings.TrimSuffix(above, "\n"), "\n"), rows...)
	}
	s.paint(&out, fresh)
	if end := (place{len(rows) - 1, width(rows[len(rows)-1])}); cursor != end {
		move(&out, end.row-cursor.row, 'A')
		out.WriteByte('\r')
		move(&out, cursor.column, 'C')
	}
	s.rows, s.cursor, s.drawn = rows, cursor, s.width
	_, _ = io.WriteString(s.out, out.String()) // the terminal is gone: reading from it says so
}

// paint writes rows where others stand, from the first that differs, and leaves the
// cursor behind the last.
func (s *screen) paint(out *strings.Builder, rows []string) {
	same := 0
	for same < min(len(rows)-1, len(s.rows)) && rows[same] == s.rows[same] {
		same++
	}
	if same == len(s.rows) && same > 0 { // there is a row more
		move(out, same-1-s.cursor.row, 'B')
		out.WriteString("\r\n")
	} else {
		move(out, s.cursor.row-same, 'A')
		move(out, same-s.cursor.row, 'B')
		out.WriteByte('\r')
	}
	for i, row := range rows[same:] {
		if i > 0 {
			out.WriteString("\r\n")
		}
		old := same + i
		if i < len(rows)-same-1 && old < len(s.rows) && row == s.rows[old] {
			continue
		}
		if old < len(s.rows) && !strings.HasPrefix(row, s.rows[old]) {
			out.WriteString("\x1b[K")
		}
		out.WriteString(row)
	}
	if len(rows) < len(s.rows) {
		out.WriteString("\x1b[J")
	}
}

// How a row is dimmed.
const dim, bright = "\x1b[2m", "\x1b[0m"

// finish leaves what stands there and goes on below it.
func (s *screen) finish() {
	var out strings.Builder
	move(&out, len(s.rows)-1-s.cursor.row, 'B')
	out.WriteString("\r\n")
	s.rows, s.cursor = nil, place{}
	_, _ = io.WriteString(s.out, out.String())
}

// How a screen begins again: where the cursor is, or on an empty window.
const inPlace, emptied = "\r", "\x1b[H\x1b[2J"

// reset begins again, as begin says: what stood there is not known any more.
func (s *screen) reset(begin string) {
	s.rows, s.cursor = nil, place{}
	_, _ = io.WriteString(s.out, begin)
}

// erase takes away what stands there. In a window that became narrower the rows
// take more lines than they were drawn on.
func (s *screen) erase(out *strings.Builder) {
	up := s.cursor.column / s.width
	for _, row := range s.rows[:min(s.cursor.row, len(s.rows))] {
		up += max(1, (width(row)+s.width-1)/s.width)
	}
	move(out, up, 'A')
	out.WriteString("\r\x1b[J")
	s.rows, s.cursor = nil, place{}
}

func move(out *strings.Builder, n int, direction byte) {
	if n > 0 {
		fmt.Fprintf(out, "\x1b[%d%c", n, direction)
	}
}
