package console

import (
	"regexp"
	"strings"

	"switchboard/channels/render"
)

// face is how characters look: a set of these.
type face uint8

const (
	strong face = 1 << iota
	slanted
	underlined
	struck
	coded
)

// faces are the sequences that set each, in order.
//
// Source: ECMA-48, 8.3.117 "SGR".
var faces = [...]string{"1", "3", "4", "9", "36"}

var styling = regexp.MustCompile("\x1b\\[[0-9;]*m")

// unstyled is s without the sequences that say how it looks.
func unstyled(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return styling.ReplaceAllString(s, "")
}

// formatted is Markdown in rows for a terminal of limit cells that shows faces. Nothing
// that the text holds commands the terminal.
func formatted(markdown string, limit int) []string {
	style := render.Style{
		Bullets: []string{"• ", "◦ ", "▪ "}, Done: "☑ ", Open: "☐ ", Rule: strings.Repeat("─", min(limit, 40)), TableWidth: limit,
	}
	f := &formatter{limit: max(1, limit)}
	t := render.Parse(markdown).Lay(&style)
	t.Emit(f)
	f.flush()
	for len(f.rows) > 0 && f.rows[len(f.rows)-1] == "" {
		f.rows = f.rows[:len(f.rows)-1]
	}
	return f.rows
}

// A formatter emits rows. A further row of an item stands as far in as its first.
type formatter struct {
	limit       int
	rows        []string
	front, hang string // before the first row of the line, and before its others
	text        []byte // of the line
	faces       []face // of each byte of it
	now         face
}

// facesOf are how spans look.
var facesOf = map[render.Kind]face{
	render.Bold: strong, render.Italic: slanted, render.Strike: struck, render.Link: underlined,
	render.Code: coded, render.Pre: coded, render.Heading: strong,
}

func faceOf(s render.Span) face {
	if s.Kind == render.Heading && s.Level == 1 {
		return strong | underlined
	}
	return facesOf[s.Kind]
}

// look is how text in the spans looks.
func look(in []render.Span) (now face) {
	for _, s := range in {
		now |= faceOf(s)
	}
	return now
}

func (f *formatter) Open(s render.Span, in []render.Span) {
	switch s.Kind {
	case render.Item:
		mark := s.Value
		if s.Continued {
			mark = ""
		}
		f.front += mark + strings.Repeat(" ", max(0, s.Indent-width(mark)))
		f.hang += strings.Repeat(" ", max(s.Indent, width(mark)))
	case render.Quote:
		f.front += "│ "
		f.hang += "│ "
	case render.Spoiler:
		f.Write("||")
	default:
	}
	f.now = look(in) | faceOf(s)
}

func (f *formatter) Close(s render.Span, in []render.Span) {
	if f.now = look(in); s.Kind == render.Spoiler {
		f.Write("||")
	}
}

func (f *formatter) Line(in []render.Span) {
	f.flush()
	f.front = ""
	for _, s := range in {
		switch s.Kind {
		case render.Item:
			f.front += strings.Repeat(" ", max(s.Indent, width(s.Value)))
		case render.Quote:
			f.front += "│ "
		default:
		}
	}
	f.hang = f.front
}

func (f *formatter) Write(s string) {
	s = strings.ReplaceAll(Printable(s), "\t", "    ")
	f.text = append(f.text, s...)
	for range len(s) {
		f.faces = append(f.faces, f.now)
	}
}

// flush ends the line.
func (f *formatter) flush() {
	if room := f.limit - width(f.hang); room < 8 && room < f.limit { // so deep that little would fit beside it
		f.front, f.hang = "", ""
	}
	front := f.front
	if len(f.text) == 0 {
		front = strings.TrimRight(front, " ")
	}
	for _, row := range breaks(string(f.text), f.limit-width(f.hang)) {
		f.rows = append(f.rows, front+f.styled(row.from, row.to))
		front = f.hang
	}
	f.text, f.faces = f.text[:0], f.faces[:0]
}

// styled is a stretch of the line with its faces.
func (f *formatter) styled(from, to int) string {
	var out strings.Builder
	var now face
	for at := from; at < to; at++ {
		if next := f.faces[at]; next != now {
			if now != 0 {
				out.WriteString(bright)
			}
			if next != 0 {
				out.WriteString(next.sequence())
			}
			now = next
		}
		out.WriteByte(f.text[at])
	}
	if now != 0 {
		out.WriteString(bright)
	}
	return out.String()
}

func (a face) sequence() string {
	var codes []string
	for i, code := range faces {
		if a&(1<<i) != 0 {
			codes = append(codes, code)
		}
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}
