package telegram

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"switchboard/channels/render"
)

// A formatEmitter writes a text the way people see it and notes the entities over
// it. It is a render.Gauge.
type formatEmitter struct {
	limit int // of a message

	out      []byte
	units    int  // of out
	start    int  // of the line, behind what stands in front of it
	code     bool // this is code: nothing is put in front of lines
	entities []formatEntity
	open     []formatOpen
	live     int // how many of open are neither paused nor void
}

// A formatOpen is an entity that has no end yet.
type formatOpen struct {
	formatEntity
	at int // where it begins in out

	paused bool // it goes on behind the code it contains
	void   bool // what it would say is said already, or cannot be said here
}

var _ render.Gauge = (*formatEmitter)(nil)

// Reset implements render.Gauge.
func (e *formatEmitter) Reset() {
	e.out, e.units, e.start, e.code, e.entities, e.open, e.live = e.out[:0], 0, 0, false, e.entities[:0], e.open[:0], 0
}

// Size implements render.Gauge. White space that is dropped in the end counts. Too many
// entities are as bad as too long a text.
func (e *formatEmitter) Size() int {
	if n := len(e.entities) + e.live; n > formatMaxEntities && e.limit > 0 {
		return max(e.units, e.limit+n)
	}
	return e.units
}

// end returns the text and its entities, as they ended. They are valid until Reset.
func (e *formatEmitter) end() (string, []formatEntity) {
	text := string(bytes.TrimRightFunc(e.out, unicode.IsSpace))
	short := strings.TrimLeftFunc(text, unicode.IsSpace)
	if by := len(text) - len(short); by > 0 && !e.coded() {
		e.shift(render.Units(text[:by]))
		text = short
	}
	return text, e.entities
}

// coded says whether the text begins with code, where white space is not trimmed.
func (e *formatEmitter) coded() bool {
	return slices.ContainsFunc(e.entities, func(en formatEntity) bool {
		return en.Offset == 0 && (en.Type == "pre" || en.Type == "code")
	})
}

// shift moves the entities by units to the front.
func (e *formatEmitter) shift(by int) {
	for i := range e.entities {
		en := &e.entities[i]
		end := en.Offset + en.Length - by
		en.Offset = max(en.Offset-by, 0)
		en.Length = end - en.Offset
	}
	e.entities = slices.DeleteFunc(e.entities, func(en formatEntity) bool { return en.Length <= 0 })
}

// formatRank orders entities over the same stretch, outer ones first.
func formatRank(en formatEntity) int {
	switch en.Type {
	case "blockquote":
		return 0
	case "code", "pre", "text_link":
		return 2
	}
	return 1
}

// formatTypes are the entities that say the same as a span.
var formatTypes = [...]string{
	render.Bold: "bold", render.Heading: "bold", render.Italic: "italic", render.Strike: "strikethrough",
	render.Spoiler: "spoiler", render.Code: "code", render.Pre: "pre", render.Table: "pre",
	render.Link: "text_link", render.Quote: "blockquote", render.Item: "",
}

// Open begins a span. Bold, italic, struck-out and hidden text may hold each other
// and links but neither hold code nor stand in it; they pause for it. Quotes do not
// nest: an inner one is marked by hand. They hold links and, as the library shows, code.
//
// Source: https://core.telegram.org/bots/api#formatting-options; are_entities_valid in
// MessageEntity.cpp of https://github.com/tdlib/td.
func (e *formatEmitter) Open(s render.Span, in []render.Span) {
	typ := formatTypes[s.Kind]
	void := e.has(typ)
	switch s.Kind {
	case render.Item:
		if !s.Continued {
			e.front(s.Value)
		} else if len(e.out) > 0 {
			e.front(render.Indent)
		}
	case render.Quote:
		if void {
			e.front(render.InnerQuote)
		} else {
			e.ownLine()
		}
	case render.Pre, render.Table:
		e.ownLine()
	case render.Code:
		void = void || e.has("text_link")
	case render.Link:
		void = void || s.Value == ""
	default:
	}
	en := formatOpen{at: len(e.out), void: void || typ == ""}
	en.Type, en.Offset = typ, e.units
	switch {
	case en.void:
	case typ == "pre" && s.Kind == render.Pre:
		en.Language = s.Value
	case typ == "text_link":
		en.URL = s.Value
	}
	if !en.void && (typ == "pre" || typ == "code") {
		e.pause()
		e.code = typ == "pre"
	}
	if !en.void {
		e.live++
	}
	e.open = append(e.open, en)
}

func (e *formatEmitter) Close(render.Span, []render.Span) {
	last := e.open[len(e.open)-1]
	e.open = e.open[:len(e.open)-1]
	e.note(last)
	if !last.void && (last.Type == "pre" || last.Type == "code") {
		e.code = false
		for i := range e.open {
			if e.open[i].paused {
				e.open[i].paused, e.open[i].at, e.open[i].Offset = false, len(e.out), e.units
				e.live++
			}
		}
	}
}

// pause ends the entities that may not hold code.
func (e *formatEmitter) pause() {
	for i, en := range e.open {
		if !en.void && formatRank(en.formatEntity) == 1 {
			e.note(en)
			e.open[i].paused = true
		}
	}
}

// note notes an entity that ends here. Styles leave out the white space around them.
func (e *formatEmitter) note(en formatOpen) {
	if en.void || en.paused {
		return
	}
	e.live--
	all := e.out[min(en.at, len(e.out)):]
	marked := bytes.TrimRightFunc(all, unicode.IsSpace)
	end := e.units - utf8.RuneCount(all[len(marked):]) // no white space has two units
	if formatRank(en.formatEntity) == 1 {
		short := bytes.TrimLeftFunc(marked, unicode.IsSpace)
		en.Offset += utf8.RuneCount(marked[:len(marked)-len(short)])
	}
	if en.Length = end - en.Offset; en.Length > 0 {
		e.entities = append(e.entities, en.formatEntity)
	}
}

// has says whether an entity of this type is open.
func (e *formatEmitter) has(typ string) bool {
	return slices.ContainsFunc(e.open, func(o formatOpen) bool { return !o.void && o.Type == typ })
}

// Line begins another line. Code has nothing in front: it would be copied along.
func (e *formatEmitter) Line(in []render.Span) {
	if e.code {
		e.Write("\n")
		return
	}
	e.trim()
	e.front("\n" + render.Front(in))
}

// front writes what stands in front of a line.
func (e *formatEmitter) front(s string) {
	e.Write(s)
	e.start = len(e.out)
}

// trim takes the spaces off a line that has nothing but marks in front.
func (e *formatEmitter) trim() {
	if e.start != len(e.out) {
		return
	}
	e.out = bytes.TrimRight(e.out, " ")
	e.units -= e.start - len(e.out)
	e.start = len(e.out)
	for i := range e.open {
		e.open[i].at, e.open[i].Offset = min(e.open[i].at, len(e.out)), min(e.open[i].Offset, e.units)
	}
}

// ownLine makes sure that a block which the platform shows as such has its line for
// itself.
func (e *formatEmitter) ownLine() {
	e.trim()
	if len(e.out) > 0 && e.out[len(e.out)-1] != '\n' {
		e.front("\n")
	}
}

// formatApart stands between an @ and a name: people do not see it, and the platform
// finds no name there.
const formatApart = "\u2060"

// Write adds characters. In a text the platform makes a mention of every @name by
// itself, where no letter, digit or underscore stands before the @; code and links are
// left alone.
//
// Source: match_mentions in MessageEntity.cpp of https://github.com/tdlib/td.
func (e *formatEmitter) Write(s string) {
	if strings.Contains(s, "@") && !e.has("pre") && !e.has("code") && !e.has("text_link") {
		s = formatNameless(e.out, s)
	}
	e.out = append(e.out, s...)
	e.units += render.Units(s)
}

// formatNameless parts every @ in s, which follows before, from a name behind it.
func formatNameless(before []byte, s string) string {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if s[i] != '@' {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(s[:i])
		if i == 0 {
			last, _ = utf8.DecodeLastRune(before)
		}
		next, size := utf8.DecodeRuneInString(s[i+1:])
		if !word(last) && (size == 0 || word(next)) { // the name may come with the next Write
			b.WriteString(s[from:i+1] + formatApart)
			from = i + 1
		}
	}
	b.WriteString(s[from:])
	return b.String()
}
