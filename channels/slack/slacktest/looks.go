package slacktest

import (
	"encoding/json"
	"strings"
	"unicode/utf16"

	"switchboard/channels/platformtest"
)

// look is the text of blocks as people see it, with its marks.
func look(blocks json.RawMessage) (string, []platformtest.Mark) {
	var list []json.RawMessage
	_ = json.Unmarshal(blocks, &list)
	var l looker
	for _, raw := range list {
		var b struct {
			Type     string `json:"type"`
			Elements []rich `json:"elements"`
		}
		if json.Unmarshal(raw, &b) == nil && b.Type == "rich_text" {
			for _, e := range b.Elements {
				l.element(e)
			}
		}
	}
	return l.text.String(), l.marks
}

// A looker writes rich text as people see it.
type looker struct {
	text  strings.Builder
	units int
	marks []platformtest.Mark
}

func (l *looker) write(s string) {
	l.text.WriteString(s)
	l.units += len(utf16.Encode([]rune(s)))
}

func (l *looker) line() {
	if l.units > 0 {
		l.write("\n")
	}
}

func (l *looker) mark(kind string, from int, address string) {
	if l.units > from {
		l.marks = append(l.marks, platformtest.Mark{Type: kind, From: from, Length: l.units - from, URL: address})
	}
}

func (l *looker) element(e rich) {
	l.line()
	from := l.units
	switch e.Type {
	case "rich_text_list":
		for i, item := range e.Elements {
			if i > 0 {
				l.write("\n")
			}
			l.write("• ")
			l.inline(item)
		}
	case "rich_text_preformatted":
		l.inline(e)
		l.mark("pre", from, "")
	case "rich_text_quote":
		l.inline(e)
		l.mark("quote", from, "")
	default:
		l.inline(e)
	}
}

func (l *looker) inline(e rich) {
	for _, in := range e.Elements {
		from := l.units
		switch in.Type {
		case "link":
			if in.Text != nil && *in.Text != "" {
				l.write(*in.Text)
			} else {
				l.write(in.URL)
			}
			l.mark("link", from, in.URL)
		case "text":
			l.write(*in.Text)
		case "user", "broadcast", "channel", "usergroup":
			l.write("@" + in.UserID + in.Range)
			l.mark("named", from, "")
		case "emoji":
			l.write(":" + in.Name + ":")
		}
		var style map[string]bool
		_ = json.Unmarshal(in.Style, &style)
		for _, name := range []string{"bold", "italic", "strike", "code", "underline"} {
			if style[name] {
				l.mark(name, from, "")
			}
		}
	}
}

// maxSaid is the longest message that people can write, in characters.
const maxSaid = 12_000

// shown is the text that people see: that of the blocks where there are any.
func (r *record) shown() string {
	if len(r.Blocks) == 0 {
		return r.Text
	}
	text, _ := look(r.Blocks)
	return text
}

// buttons are those under a message.
func (r *record) buttons() (list []button) {
	var blocks []block
	if json.Unmarshal(r.Blocks, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Type != "actions" {
			continue
		}
		for _, raw := range b.Elements {
			var one button
			if json.Unmarshal(raw, &one) == nil && one.Text != nil {
				list = append(list, one)
			}
		}
	}
	return list
}
