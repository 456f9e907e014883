package telegramtest

import (
	"strings"
	"unicode/utf16"
)

// parseMode reads text as parse_mode says.
//
// Source: https://core.telegram.org/bots/api#formatting-options
func parseMode(mode, text string) (string, []Entity, *Rejection) {
	switch strings.ToLower(mode) {
	case "html":
		return parseHTML(text)
	case "markdownv2":
		return parseMarkdown(text)
	}
	return "", nil, bad(pageNesting, "unsupported parse_mode")
}

// A builder puts text and entities together.
type builder struct {
	out      strings.Builder
	units    int
	open     []opened
	entities []Entity
}

// An opened entity waits for its end.
type opened struct {
	Entity
	tag string // what began it
	at  int    // byte of the source
}

func (b *builder) rune(r rune) {
	b.out.WriteRune(r)
	b.units += utf16.RuneLen(r)
}

func (b *builder) text(text string) {
	for _, r := range text {
		b.rune(r)
	}
}

func (b *builder) begin(typ, tag string, at int) {
	b.open = append(b.open, opened{Entity: Entity{Type: typ, Offset: b.units}, tag: tag, at: at})
}

// end closes the innermost entity, which is kept unless it is empty.
func (b *builder) end() {
	e := b.open[len(b.open)-1].Entity
	b.open = b.open[:len(b.open)-1]
	if e.Length = b.units - e.Offset; e.Length > 0 && e.Type != "" {
		b.entities = append(b.entities, e)
	}
}

func (b *builder) inner() *opened {
	if len(b.open) == 0 {
		return &opened{}
	}
	return &b.open[len(b.open)-1]
}
