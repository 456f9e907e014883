package render

import (
	"bytes"
	"strings"
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
