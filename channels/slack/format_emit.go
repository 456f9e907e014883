package slack

import (
	"strings"

	"switchboard/channels"
	"switchboard/channels/render"
)

// An emitter writes a text as rich text. It is a render.Gauge.
type emitter struct {
	limit int // of a part, in units

	text     []byte // of the element that is being written
	pieces   []piece
	elements []richElement
	texts    []string             // of elements
	kind     string               // of the element that is being written
	code     bool                 // it is code: nothing is put in front of lines
	open     [render.Item + 1]int // how many spans of each kind are
	links    []string

	lines  int    // line breaks owed
	prefix string // what stands in front of the line that is owed
	units  int
	json   int // characters, about
}

// A piece is a stretch of text with one look.
type piece struct {
	from, to int
	look     richStyle
	url      string
}

var _ render.Gauge = (*emitter)(nil)

// What elements and pieces cost besides their text, in characters of JSON.
const (
	costElement = 60
	costPiece   = 90
)

// Reset implements render.Gauge.
func (e *emitter) Reset() {
	*e = emitter{limit: e.limit, text: e.text[:0], pieces: e.pieces[:0], elements: e.elements[:0], texts: e.texts[:0], kind: section}
}

// Size implements render.Gauge. Too long blocks are as bad as too long a text.
func (e *emitter) Size() int {
	if e.limit > 0 {
		return max(e.units, (e.json*e.limit+maxRich-1)/maxRich)
	}
	return e.units
}

// body is what was written; ok is false when there is nothing to see.
func (e *emitter) body() (body channels.Body, ok bool) {
	e.finish()
	text := strings.Join(e.texts, "\n")
	return channels.Body{Text: text, Rich: encodeRich(e.elements)}, render.Visible(text)
}

// begin ends the element that is being written and begins another of that kind.
func (e *emitter) begin(kind string) {
	e.finish()
	e.kind, e.lines, e.prefix = kind, 0, ""
}

// finish ends the element that is being written, without the white space at its end.
func (e *emitter) finish() {
	text := strings.TrimRight(string(e.text), " \t\n")
	if e.kind == preformatted {
		text = strings.TrimRight(string(e.text), "\n")
	}
	if text != "" {
		el := richElement{Type: e.kind}
		for _, p := range e.pieces {
			if p.from >= len(text) {
				break
			}
			rt := richText{Type: "text", Text: text[p.from:min(p.to, len(text))], URL: p.url}
			if p.url != "" {
				rt.Type = "link"
			}
			if p.look != (richStyle{}) {
				rt.Style = &p.look
			}
			el.Elements = append(el.Elements, rt)
		}
		e.elements, e.texts = append(e.elements, el), append(e.texts, text)
		e.units++ // elements stand on lines of their own
		e.json += costElement
	}
	e.text, e.pieces, e.kind = e.text[:0], nil, section
}

// Open implements render.Emitter. A quote holds no code and no other quote: code stands
// outside of it, an inner quote is marked by hand.
func (e *emitter) Open(s render.Span, _ []render.Span) {
	e.open[s.Kind]++
	switch s.Kind {
	case render.Spoiler:
		e.Write("||")
	case render.Link:
		e.links = append(e.links, s.Value)
	case render.Pre, render.Table:
		e.begin(preformatted)
		e.code = true
	case render.Quote:
		if e.open[render.Quote] == 1 {
			e.begin(quoted)
		} else {
			e.front(render.InnerQuote)
		}
	case render.Item:
		switch {
		case !s.Continued:
			e.front(s.Value)
		case len(e.text) > 0:
			e.front(render.Indent)
		}
	default:
	}
}

// Close implements render.Emitter.
func (e *emitter) Close(s render.Span, _ []render.Span) {
	e.open[s.Kind]--
	switch s.Kind {
	case render.Spoiler:
		e.Write("||")
	case render.Link:
		e.links = e.links[:len(e.links)-1]
	case render.Pre, render.Table:
		e.code = false
		e.begin(e.around())
	case render.Quote:
		if e.open[render.Quote] == 0 {
			e.begin(section)
		}
	default:
	}
}

// around is the kind of element that text outside of code goes to.
func (e *emitter) around() string {
	if e.open[render.Quote] > 0 {
		return quoted
	}
	return section
}

// Line implements render.Emitter. What a quote stands in is to the left of it, not in its
// lines; code has nothing in front, as it would be copied along.
func (e *emitter) Line(in []render.Span) {
	e.lines++
	if e.code {
		return
	}
	e.prefix = render.Front(in)
}

// front writes what stands in front of a line, without any look.
func (e *emitter) front(s string) {
	e.owed()
	e.add(s, richStyle{}, "")
}

// owed writes the line breaks that are owed. None stand at the beginning of an element.
func (e *emitter) owed() {
	if e.lines == 0 {
		return
	}
	before := strings.Repeat("\n", e.lines) + e.prefix
	if len(e.text) == 0 && !e.code {
		before = e.prefix
	}
	e.lines, e.prefix = 0, ""
	if before != "" {
		e.add(before, richStyle{}, "")
	}
}

// Write implements render.Emitter.
func (e *emitter) Write(s string) {
	e.owed()
	if e.code {
		e.add(s, richStyle{}, "")
		return
	}
	address := ""
	if n := len(e.links); n > 0 {
		address = e.links[n-1]
	}
	if address == "" && len(e.links) > 0 && linkable(strings.TrimSpace(s)) {
		address = strings.TrimSpace(s) // it stands in the text
	}
	e.add(s, richStyle{
		Bold: e.open[render.Bold]+e.open[render.Heading] > 0, Italic: e.open[render.Italic] > 0,
		Strike: e.open[render.Strike] > 0, Code: e.open[render.Code] > 0,
	}, address)
}

func (e *emitter) add(s string, look richStyle, address string) {
	if s == "" {
		return
	}
	from := len(e.text)
	e.text = append(e.text, s...)
	n := render.Units(s)
	e.units += n
	e.json += n + strings.Count(s, "\n") + strings.Count(s, `"`) + strings.Count(s, `\`) + 5*(strings.Count(s, "<")+strings.Count(s, ">")+strings.Count(s, "&"))
	if last := len(e.pieces) - 1; last >= 0 && e.pieces[last].look == look && e.pieces[last].url == address {
		e.pieces[last].to = len(e.text)
		return
	}
	e.pieces = append(e.pieces, piece{from, len(e.text), look, address})
	e.json += costPiece + len(address)
}
