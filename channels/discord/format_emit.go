package discord

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"switchboard/channels/render"
)

// An emitter writes a text in the platform's markup, and as people read it. It is a
// render.Gauge.
type emitter struct {
	writer
	plain  []byte
	open   []opened
	ends   int           // of what is open, in units
	front  int           // where the text of the line begins, behind what stands in front of it
	buffer *bytes.Buffer // the text of a span that is written when it ends
	pre    bool          // these are lines of code
	ticks  bool          // the last character of code was a backtick
}

// An opened span, with what ends it.
type opened struct {
	end  string
	from int    // of a link: where it begins in out
	read int    // and in plain
	mark string // that it has: another of it inside would end it
	void bool
}

var _ render.Gauge = (*emitter)(nil)

// Reset implements render.Gauge.
func (e *emitter) Reset() {
	*e = emitter{writer: writer{out: e.out[:0]}, plain: e.plain[:0], open: e.open[:0]}
}

// Size implements render.Gauge. Text that is written when its span ends may grow to twice its
// size.
func (e *emitter) Size() int {
	n := e.size + e.ends
	if e.buffer != nil {
		n += 2*e.buffer.Len() + 4
	}
	return n
}

// end returns the text as people read it and as it is sent.
func (e *emitter) end() (plain, content string) {
	return strings.TrimSpace(string(e.plain)), strings.TrimRightFunc(string(e.out), unicode.IsSpace)
}

// marks are what stands on both sides of a span.
var marks = map[render.Kind]string{
	render.Bold: "**", render.Italic: "*", render.Strike: "~~", render.Spoiler: "||",
}

// language is what may stand behind a fence.
var language = regexp.MustCompile(`^[A-Za-z0-9+#-]{1,20}$`)

// Open begins a span.
func (e *emitter) Open(s render.Span, in []render.Span) {
	o := opened{mark: marks[s.Kind]}
	switch s.Kind {
	case render.Item:
		if s.Continued {
			e.begin(strings.Repeat(" ", s.Indent))
		} else {
			e.begin(s.Value)
		}
	case render.Quote:
		e.begin("> ")
	case render.Heading:
		if e.column == 0 && len(in) == 0 && s.Level <= 3 {
			e.begin(strings.Repeat("#", max(s.Level, 1)) + " ")
		} else {
			o.mark = "**"
		}
	case render.Pre, render.Table:
		e.fence(s, in)
		e.pre = true
		o.end = "\n```"
	case render.Code:
		e.buffer = &bytes.Buffer{}
	case render.Link:
		switch {
		case e.buffer != nil:
			o.void = true
		case s.Value == "":
			e.buffer = &bytes.Buffer{}
		default:
			o.from, o.read = len(e.out), len(e.plain)
			e.raw("[")
			o.end = "](<" + encoded.Replace(s.Value) + ">)"
		}
	default:
	}
	if o.mark != "" && e.buffer == nil && !e.has(o.mark) {
		e.raw(o.mark)
		o.end = o.mark
	} else if o.mark != "" {
		o.mark = ""
	}
	e.ends += render.Units(o.end)
	e.open = append(e.open, o)
}

// fence begins lines of code.
func (e *emitter) fence(s render.Span, in []render.Span) {
	if e.column > 0 {
		e.Line(in)
	}
	e.raw("```")
	if s.Kind == render.Pre && language.MatchString(s.Value) {
		e.raw(s.Value)
	}
	e.raw("\n")
	e.line(quotes(in))
}

func (e *emitter) has(mark string) bool {
	return slices.ContainsFunc(e.open, func(o opened) bool { return o.mark == mark })
}

// Close ends a span.
func (e *emitter) Close(s render.Span, in []render.Span) {
	o := e.open[len(e.open)-1]
	e.open = e.open[:len(e.open)-1]
	e.ends -= render.Units(o.end)
	switch {
	case o.void:
	case s.Kind == render.Code || s.Kind == render.Link && s.Value == "":
		text := e.buffer.String()
		e.buffer = nil
		if s.Kind == render.Code {
			e.code(text)
		} else {
			e.address(text)
		}
	case s.Kind == render.Pre || s.Kind == render.Table:
		e.pre, e.ticks = false, false
		e.raw("\n" + quotes(in) + "```")
	case s.Kind == render.Link && string(e.plain[o.read:]) == s.Value:
		e.cut(o.from) // the apps show no link that has another address for its text
		e.address(s.Value)
	default:
		e.raw(o.end)
	}
}

// code writes a few words of code between backticks, of which it has fewer in a row.
func (e *emitter) code(text string) {
	longest := 0
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	switch {
	case strings.TrimSpace(text) == "", longest > 1: // the apps know one or two
		e.writer.write(text)
	case longest > 0:
		e.raw(fence + " " + text + " " + fence)
	default:
		e.raw(fence + text + fence)
	}
}

// address writes an address so that nothing behind it becomes part of it.
func (e *emitter) address(text string) {
	if linkable(text) {
		e.raw("<" + encoded.Replace(text) + ">")
	} else {
		e.writer.write(text)
	}
}

// Line begins another line.
func (e *emitter) Line(in []render.Span) {
	e.plain = append(e.plain, '\n')
	if e.buffer != nil {
		e.buffer.WriteByte(' ')
		return
	}
	if e.pre {
		e.line("\n" + quotes(in))
		return
	}
	e.trim()
	e.line("\n")
	e.begin(render.Margin(in))
}

// quotes stands in front of a line of code in quotes.
func quotes(in []render.Span) (front string) {
	for _, s := range in {
		if s.Kind == render.Quote {
			front += "> "
		}
	}
	return front
}

// begin writes what stands in front of a line; people read it, too.
func (e *emitter) begin(s string) {
	e.line(s)
	e.front = len(e.out)
	e.plain = append(e.plain, s...)
}

// trim takes the spaces off an empty line, but for the one that makes it a quote.
func (e *emitter) trim() {
	if short := bytes.TrimRight(e.out, " "); e.front == len(e.out) && bytes.HasSuffix(short, []byte("\n")) {
		e.cut(len(short))
	}
}

// Write adds characters.
func (e *emitter) Write(s string) {
	e.plain = append(e.plain, s...)
	switch {
	case e.buffer != nil:
		e.buffer.WriteString(s)
	case e.pre:
		for i := range len(s) {
			tick := s[i] == '`'
			if tick && e.ticks {
				e.raw("\u200b") // two in a row could end the code
			}
			e.ticks = tick
			e.put(s[i : i+1])
		}
		e.column += len(s)
	default:
		e.writer.write(s)
	}
}
