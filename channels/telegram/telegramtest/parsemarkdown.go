package telegramtest

import (
	"strings"
	"unicode/utf8"
)

// markdownReserved must be escaped where they mark nothing.
const markdownReserved = "_*[]()~`>#+-=|{}.!"

// markdownStyles are the marks around a stretch, longer ones first.
var markdownStyles = []struct{ mark, typ string }{
	{"__", "underline"},
	{"||", "spoiler"},
	{"*", "bold"},
	{"_", "italic"},
	{"~", "strikethrough"},
}

// parseMarkdown reads MarkdownV2 style.
//
// Source: https://core.telegram.org/bots/api#markdownv2-style
func parseMarkdown(text string) (string, []Entity, *Rejection) {
	var b builder
	for at := 0; at < len(text); {
		n, rejected := b.markdown(text, at)
		if rejected != nil {
			return "", nil, rejected
		}
		at += n
	}
	if quote := b.inner(); quote.tag == ">" {
		b.end()
	}
	if len(b.open) > 0 {
		return "", nil, unparsed("markdownv2-style", detail("Can't find end of the entity starting at byte offset %d", b.inner().at))
	}
	return b.out.String(), b.entities, nil
}

// markdown takes what stands at one place and returns how many bytes it was.
func (b *builder) markdown(text string, at int) (int, *Rejection) {
	rest := text[at:]
	lineStart := at == 0 || text[at-1] == '\n'
	if lineStart && b.inner().tag == ">" && rest[0] != '>' {
		b.end()
	}
	switch {
	case rest[0] == '\\' && len(rest) > 1 && rest[1] > 0 && rest[1] < 127:
		b.rune(rune(rest[1]))
		return 2, nil
	case lineStart && (rest[0] == '>' || strings.HasPrefix(rest, "**>")):
		return b.quote(rest, at), nil
	case strings.HasPrefix(rest, "```"):
		return b.fence(rest, at)
	case rest[0] == '`':
		return b.code(rest, at)
	case strings.HasPrefix(rest, "||") && b.inner().tag == ">" && b.inner().Type == "expandable_blockquote" &&
		(len(rest) == 2 || rest[2] == '\n'):
		return 2, nil // the end of an expandable quote
	case rest[0] == '[' || strings.HasPrefix(rest, "!["):
		b.begin("text_link", "[", at)
		return strings.Index(rest, "[") + 1, nil
	case rest[0] == ']' && b.inner().tag == "[":
		return b.link(rest, at)
	}
	for _, style := range markdownStyles {
		if !strings.HasPrefix(rest, style.mark) {
			continue
		}
		if b.inner().tag == style.mark {
			b.end()
		} else {
			b.begin(style.typ, style.mark, at)
		}
		return len(style.mark), nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune(markdownReserved, r) {
		return 0, unparsed("markdownv2-style", detail(`Character '%c' is reserved and must be escaped with the preceding '\'`, r))
	}
	b.rune(r)
	return size, nil
}

// quote begins a quote, or goes on with the one of the line before.
func (b *builder) quote(rest string, at int) int {
	if b.inner().tag == ">" && rest[0] == '>' {
		return 1
	}
	if rest[0] == '>' {
		b.begin("blockquote", ">", at)
		return 1
	}
	b.begin("expandable_blockquote", ">", at)
	return 3
}

func (b *builder) fence(rest string, at int) (int, *Rejection) {
	n := closing(rest[3:], "```")
	if n < 0 {
		return 0, unparsed("markdownv2-style", detail("Can't find end of Pre entity at byte offset %d", at))
	}
	inside := rest[3 : 3+n]
	b.begin("pre", "```", at)
	if first, body, ok := strings.Cut(inside, "\n"); ok && !strings.ContainsAny(first, " `") {
		b.inner().Language, inside = first, body
	}
	b.text(unescape(inside))
	b.end()
	return n + 6, nil
}

func (b *builder) code(rest string, at int) (int, *Rejection) {
	n := closing(rest[1:], "`")
	if n < 0 {
		return 0, unparsed("markdownv2-style", detail("Can't find end of Code entity at byte offset %d", at))
	}
	b.begin("code", "`", at)
	b.text(unescape(rest[1 : 1+n]))
	b.end()
	return n + 2, nil
}

// link ends a link with its address.
func (b *builder) link(rest string, at int) (int, *Rejection) {
	if !strings.HasPrefix(rest, "](") {
		return 0, unparsed("markdownv2-style", detail("Can't find the address of the link that ends at byte offset %d", at))
	}
	n := closing(rest[2:], ")")
	if n < 0 {
		return 0, unparsed("markdownv2-style", detail("Can't find end of a URL at byte offset %d", at))
	}
	address := unescape(rest[2 : 2+n])
	if id, ok := strings.CutPrefix(address, "tg://emoji?id="); ok {
		b.inner().Type, b.inner().CustomEmojiID = "custom_emoji", id
	} else {
		b.inner().URL = address
	}
	b.end()
	return n + 3, nil
}

// closing finds a mark that is not escaped; -1: there is none.
func closing(text, mark string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], mark):
			return i
		}
	}
	return -1
}

// unescape takes the backslashes away that stand before ASCII.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && text[i+1] > 0 && text[i+1] < 127 {
			i++
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
