package console

import (
	"strconv"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// picture is what a terminal of the given width shows after output, line by line,
// and where its cursor stands. It knows the sequences that screen uses.
func picture(output string, limit int) (lines []string, cursor place) {
	output = unstyled(output)
	var rows [][]string // cells; the second one of a wide character is "\x00"
	at := place{}
	row := func() []string {
		for len(rows) <= at.row {
			rows = append(rows, nil)
		}
		for len(rows[at.row]) < at.column+2 {
			rows[at.row] = append(rows[at.row], " ")
		}
		return rows[at.row]
	}
	for output != "" {
		if strings.HasPrefix(output, "\x1b[") {
			end := strings.IndexFunc(output[2:], func(r rune) bool { return r >= 0x40 }) + 2
			n, _ := strconv.Atoi(output[2:end])
			switch output[end] {
			case 'A':
				at.row = max(0, at.row-max(1, n))
			case 'B':
				at.row += max(1, n)
			case 'C':
				at.column = min(limit-1, at.column+max(1, n))
			case 'K':
				rows[at.row] = row()[:at.column]
			case 'J':
				row()
				rows = rows[:at.row+1]
				rows[at.row] = rows[at.row][:at.column]
			}
			output = output[end+1:]
			continue
		}
		each := graphemes.FromString(output)
		each.Next()
		cluster := each.Value()
		if cluster == "\r\n" {
			cluster = "\r"
		}
		output = output[len(cluster):]
		switch w := width(cluster); cluster {
		case "\r":
			at.column = 0
		case "\n":
			at.row++
		default:
			if at.column+w > limit {
				at.row, at.column = at.row+1, 0
			}
			cells := row()
			cells[at.column] = cluster
			if w == 2 {
				cells[at.column+1] = "\x00"
			}
			at.column += w
		}
	}
	for _, cells := range rows {
		lines = append(lines, strings.TrimRight(strings.ReplaceAll(strings.Join(cells, ""), "\x00", ""), " "))
	}
	return lines, at
}
