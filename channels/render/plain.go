package render

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/internal/words"
)

// plainStyle is that of text without any markup, as on a terminal.
var plainStyle = Style{
	Bullets:    []string{"- "},
	Done:       "- [x] ",
	Open:       "- [ ] ",
	Rule:       "---",
	TableWidth: 78,
	plain:      true,
}

// A plainer emits plain text. Emphasis has no marks; code, struck-out and hidden text
// have, because without them they would mean something else.
type plainer struct {
	t     Text
	out   []byte
	start int // of the line, behind what stands in front of it
}

func (p *plainer) text(t Text) string {
	if len(t.Spans) == 0 {
		return strings.TrimRight(t.Text, "\n")
	}
	p.t, p.out, p.start = t, p.out[:0], 0
	t.Emit(p)
	p.trim()
	return strings.TrimRight(string(p.out), "\n")
}

// trim takes the spaces off a line that has nothing but marks in front.
func (p *plainer) trim() {
	if p.start == len(p.out) {
		p.out = bytes.TrimRight(p.out, " ")
	}
}

func (p *plainer) Open(s Span, in []Span) {
	switch s.Kind {
	case Item:
		mark := s.Value
		if s.Continued {
			mark = strings.Repeat(" ", s.Indent)
		}
		p.front(mark)
	case Quote:
		p.front("> ")
	case Pre:
		p.Write(p.mark(s))
		p.Write(s.Value)
		p.Line(in)
	default:
		p.Write(p.mark(s))
	}
}

func (p *plainer) Close(s Span, in []Span) {
	if s.Kind == Pre {
		p.Line(in)
	}
	p.Write(p.mark(s))
}

// mark is what stands on both sides of a span.
func (p *plainer) mark(s Span) string {
	switch s.Kind {
	case Pre:
		return fence(p.t.Text[s.Start:s.End], 3, 64)
	case Code:
		return fence(p.t.Text[s.Start:s.End], 1, 8)
	case Strike:
		return "~~"
	case Spoiler:
		return "||"
	default:
		return ""
	}
}

func (p *plainer) Line(in []Span) {
	p.trim()
	p.out = append(p.out, '\n')
	p.front(Margin(in))
}

func (p *plainer) Write(s string) { p.out = append(p.out, s...) }

// front writes what stands in front of a line.
func (p *plainer) front(s string) {
	p.out = append(p.out, s...)
	p.start = len(p.out)
}

// fence is a run of backticks longer than any in s, within bounds.
func fence(s string, least, most int) string {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", min(max(least, longest+1), most))
}

// Plain writes the document as plain text for people to read: lists with their
// marks, quotes behind "> ", code between fences, a link as its text with the
// address in parentheses, a table in columns, or in lines "column: value" where it
// is too wide. It has no line break at its end.
func (d *Document) Plain() string { return d.Fit(plainStyle.TableWidth) }

// Fit is Plain with tables in columns only up to cells cells.
func (d *Document) Fit(cells int) string {
	style := plainStyle
	style.TableWidth = cells
	return new(plainer).text(d.Lay(&style))
}

// Parts renders a document as plain text in parts that f accepts, at least one.
// Markdown that shows nothing (a link definition alone) is sent as it is written,
// because a platform refuses an empty message.
func (d *Document) Parts(f channels.Features) []channels.Body {
	t := d.Lay(&plainStyle)
	if strings.TrimSpace(t.Text) == "" && len(t.Spans) == 0 {
		t = d.mask.apply(Text{Text: strings.TrimSpace(string(d.source))})
	}
	var p plainer
	var bodies []channels.Body
	for _, piece := range t.Split(f.MaxText, func(t Text) int { return f.Len(p.text(t)) }) {
		bodies = append(bodies, channels.Body{Text: p.text(piece)})
	}
	return bodies
}

// Bodies renders d as style lays it out, in parts of at most limit in the unit of gauge, at
// least one. body is what gauge wrote since its Reset; ok is false where there is nothing to
// see, and then it is left out.
func (d *Document) Bodies(style *Style, limit int, gauge Gauge, body func() (b channels.Body, ok bool)) (bodies []channels.Body) {
	write := func(t Text) {
		for range t.Pieces(limit, gauge) {
			if b, ok := body(); ok {
				bodies = append(bodies, b)
			}
		}
	}
	write(d.Lay(style))
	if len(bodies) == 0 { // nothing to see, like a definition alone
		write(d.mask.apply(Text{Text: strings.TrimSpace(d.Source())}))
	}
	if len(bodies) == 0 {
		bodies = []channels.Body{{Text: "…"}}
	}
	return bodies
}

// Units counts text in UTF-16 code units, as platforms that say "characters" mostly do: never
// fewer than characters. A byte that is no UTF-8 counts as the U+FFFD it is sent as.
func Units(text string) int {
	n := 0
	for n < len(text) && text[n] < utf8.RuneSelf {
		n++
	}
	for _, r := range text[n:] {
		n += utf16.RuneLen(r)
	}
	return n
}

// Clip cuts text to at most limit UTF-16 code units, and no character in two.
func Clip(text string, limit int) string {
	n := 0
	for i, r := range text {
		if n += utf16.RuneLen(r); n > limit {
			return text[:i]
		}
	}
	return text
}

// Visible says whether there is anything to see in text. Platforms refuse a message that looks
// empty.
func Visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !words.Unseen(r) })
}

// Linkable says whether a text may be a link to address: http or https to a host, no longer than
// most bytes, and nothing in it that ends a link in some markup. Others are written out.
func Linkable(address string, most int) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= most && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Host != "" &&
		!strings.ContainsFunc(address, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>|\`, r)
		})
}

// Escape makes any text mean itself in Markdown.
func Escape(text string) string { return words.Escape(text) }
