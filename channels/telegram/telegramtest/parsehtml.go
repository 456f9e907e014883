package telegramtest

import (
	"html"
	"strings"
	"unicode/utf8"

	"switchboard/internal/words"
)

// htmlTags are the tags that are known, with their entities.
var htmlTags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}

var (
	htmlTag       = words.Pattern(`^<(/?)([A-Za-z-]+)((?:\s+[A-Za-z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*>`)
	htmlAttribute = words.Pattern(`([A-Za-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?`)
	htmlEntity    = words.Pattern(`^&(?:lt|gt|amp|quot|#[0-9]+|#x[0-9A-Fa-f]+);`)
)

// parseHTML reads HTML style.
//
// Source: https://core.telegram.org/bots/api#html-style
func parseHTML(text string) (string, []Entity, *Rejection) {
	var b builder
	for at := 0; at < len(text); {
		rest := text[at:]
		switch {
		case rest[0] == '<':
			m := htmlTag().FindStringSubmatch(rest)
			if m == nil {
				return "", nil, unparsed("html-style", detail("Unsupported start tag at byte offset %d", at))
			}
			tag := strings.ToLower(m[2])
			if rejected := b.html(m[1] != "", tag, m[3], at); rejected != nil {
				return "", nil, rejected
			}
			at += len(m[0])
		case rest[0] == '&' && htmlEntity().MatchString(rest):
			m := htmlEntity().FindString(rest)
			b.text(html.UnescapeString(m))
			at += len(m)
		default:
			r, size := utf8.DecodeRuneInString(rest)
			b.rune(r)
			at += size
		}
	}
	if len(b.open) > 0 {
		return "", nil, unparsed("html-style", detail("Can't find end tag corresponding to start tag %q", b.inner().tag))
	}
	return b.out.String(), b.entities, nil
}

// html takes one tag.
func (b *builder) html(closing bool, tag, rest string, at int) *Rejection {
	if closing {
		if len(b.open) == 0 {
			return unparsed("html-style", detail("Unexpected end tag at byte offset %d", at))
		}
		if b.inner().tag != tag {
			return unparsed("html-style", detail("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, b.inner().tag, tag))
		}
		b.end()
		return nil
	}
	typ := htmlTags[tag]
	attributes := map[string]string{}
	for _, m := range htmlAttribute().FindAllStringSubmatch(rest, -1) {
		attributes[strings.ToLower(m[1])] = html.UnescapeString(m[2] + m[3] + m[4])
	}
	if typ == "" || tag == "span" && attributes["class"] != "tg-spoiler" {
		return unparsed("html-style", detail("Unsupported start tag %q at byte offset %d", tag, at))
	}
	language, isCode := strings.CutPrefix(attributes["class"], "language-")
	if pre := b.inner(); tag == "code" && isCode && pre.tag == "pre" && pre.Offset == b.units {
		pre.Language = language
		b.begin("", tag, at) // it is part of the pre
		return nil
	}
	if _, ok := attributes["expandable"]; ok && tag == "blockquote" {
		typ = "expandable_blockquote"
	}
	b.begin(typ, tag, at)
	b.inner().URL, b.inner().CustomEmojiID = attributes["href"], attributes["emoji-id"]
	return nil
}
