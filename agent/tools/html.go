package tools

import (
	"html"
	"slices"
	"strings"
)

// skipped elements hold nothing for a reader; blocks end a line.
var (
	skipped = strings.Fields("script style noscript template svg iframe")
	blocks  = strings.Fields("p div br li tr h1 h2 h3 h4 h5 h6 ul ol table section article header footer nav blockquote pre hr title dt dd option")
)

// htmlText is what a reader sees of a page: no tags, scripts or styles, blocks
// on lines of their own. It is for reading, not for security: the result is
// outside text like any other.
func htmlText(page string) string {
	var b strings.Builder
	for page != "" {
		open := strings.IndexByte(page, '<')
		if open < 0 {
			b.WriteString(page)
			break
		}
		b.WriteString(page[:open])
		page = page[open:]
		if strings.HasPrefix(page, "<!--") {
			page = after(page, "-->")
			continue
		}
		name, closing, rest, isTag := tag(page)
		if !isTag {
			b.WriteByte('<')
			page = page[1:]
			continue
		}
		page = rest
		if slices.Contains(skipped, name) && !closing {
			page = afterClosing(page, name)
		}
		if slices.Contains(blocks, name) {
			b.WriteByte('\n')
		}
	}
	return squeeze(html.UnescapeString(b.String()))
}

// tag reads the tag that page begins with.
func tag(page string) (name string, closing bool, rest string, ok bool) {
	body := page[1:]
	if strings.HasPrefix(body, "/") {
		body, closing = body[1:], true
	}
	end := strings.IndexFunc(body, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	if end <= 0 && !strings.HasPrefix(body, "!") && !strings.HasPrefix(body, "?") {
		return "", false, "", false
	}
	name = strings.ToLower(body[:max(end, 0)])
	quote := byte(0)
	for i := max(end, 0); i < len(body); i++ {
		switch c := body[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return name, closing, body[i+1:], true
		}
	}
	return name, closing, "", true
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

// afterClosing skips to behind the closing tag of name.
func afterClosing(page, name string) string {
	mark := "</" + name
	for at := 0; ; {
		next := strings.Index(page[at:], "</")
		if next < 0 {
			return ""
		}
		at += next
		if len(page) >= at+len(mark) && strings.EqualFold(page[at:at+len(mark)], mark) {
			return after(page[at:], ">")
		}
		at += 2
	}
}

// squeeze makes single spaces of white space within lines and drops more than
// one empty line in a row.
func squeeze(text string) string {
	var b strings.Builder
	empty := true // no empty lines at the beginning
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
