package console

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// draft is a text being written. What a reader takes for one character is moved
// over and erased as one.
type draft struct {
	text string
	at   int // the cursor, in bytes
}

func (d *draft) set(text string) { d.text, d.at = text, len(text) }

func (d *draft) insert(text string) {
	d.text = d.text[:d.at] + text + d.text[d.at:]
	d.at += len(text)
}

// before is where the character before the cursor begins.
func (d *draft) before() int {
	for each := graphemes.FromString(d.text); each.Next(); {
		if each.End() >= d.at {
			return each.Start()
		}
	}
	return 0
}

// after is where the character at the cursor ends.
func (d *draft) after() int {
	for each := graphemes.FromString(d.text); each.Next(); {
		if each.End() > d.at {
			return each.End()
		}
	}
	return len(d.text)
}

// wordBefore is where the word before the cursor begins.
func (d *draft) wordBefore() int {
	rest := strings.TrimRightFunc(d.text[:d.at], unicode.IsSpace)
	i := strings.LastIndexFunc(rest, unicode.IsSpace)
	if i < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(rest[i:])
	return i + size
}

// wordAfter is where the word after the cursor ends.
func (d *draft) wordAfter() int {
	rest := strings.TrimLeftFunc(d.text[d.at:], unicode.IsSpace)
	begin := len(d.text) - len(rest)
	if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
		return begin + i
	}
	return len(d.text)
}

// lineBegin is where the cursor's line begins.
func (d *draft) lineBegin() int { return strings.LastIndexByte(d.text[:d.at], '\n') + 1 }

// lineEnd is where the cursor's line ends.
func (d *draft) lineEnd() int {
	if i := strings.IndexByte(d.text[d.at:], '\n'); i >= 0 {
		return d.at + i
	}
	return len(d.text)
}

// cut takes the text between the cursor and byte to away.
func (d *draft) cut(to int) string {
	from, to := min(d.at, to), max(d.at, to)
	text := d.text[from:to]
	d.text = d.text[:from] + d.text[to:]
	d.at = from
	return text
}
