package discordtest

import (
	"regexp"
	"strings"

	"switchboard/channels/platformtest"
)

// markup is what the platform's apps show of a text, in the order that it is looked for.
//
// Source: https://support.discord.com/hc/en-us/articles/210298617.
var markup = regexp.MustCompile("(?s)" + strings.Join([]string{
	`(?m:^#{1,3} )`, `(?m:^> )`, `(?m:^ *- )`, // a heading, a quote, an item
	"\\\\[^A-Za-z0-9\\s]",                // escaped
	"```(?:[a-z0-9+#-]*\\n)?.*?```",      // lines of code
	"`[^`\\n]+`",                         // code
	`\[[^\]\n]+\]\(<?https?://[^\s)]+\)`, // a named link
	`<https?://[^\s>]+>`,                 // a link without a preview
	`https?://[^\s<|*\x60\\]+`,           // a link
	`<@[!&]?[0-9]+>`, `<#[0-9]+>`, "@everyone", "@here",
	`\*\*`, `__`, `~~`, `\|\|`, `\*`, `_`,
}, "|"))

// pairs are the marks that stand on both sides of what they mean.
var pairs = map[string]string{"**": "bold", "__": "underline", "~~": "strike", "||": "spoiler", "*": "italic", "_": "italic"}

// looks is a text as people see it, with what stretches of it mean. It is a rough reading; marks
// that are not closed stay.
func (s *world) looks(text string) (shown string, marks []platformtest.Mark) {
	l := reading{s: s, open: map[string]int{}}
	for text != "" {
		at := markup.FindStringIndex(text)
		if at == nil {
			break
		}
		l.write(text[:at[0]])
		token := text[at[0]:at[1]]
		text = text[at[1]:]
		if n, ok := l.line(token, text); ok {
			text = text[n:]
		} else {
			l.token(token, text)
		}
	}
	l.write(text)
	return l.out.String(), l.marks
}

// A reading is one that goes on.
type reading struct {
	s     *world
	out   strings.Builder
	marks []platformtest.Mark
	open  map[string]int
}

func (l *reading) write(text string) { l.out.WriteString(text) }

// mark writes text that means something.
func (l *reading) mark(m platformtest.Mark, text string) {
	m.From, m.Length = Units(l.out.String()), Units(text)
	l.marks = append(l.marks, m)
	l.write(text)
}

// line reads what is one only where a line begins; n is how much of rest belongs to it.
func (l *reading) line(token, rest string) (n int, ok bool) {
	if !strings.HasSuffix(token, " ") {
		return 0, false
	}
	before := l.out.String()
	switch {
	case before != "" && !strings.HasSuffix(before, "\n"):
		l.write(token)
		return 0, true
	case strings.HasSuffix(token, "- "):
		l.write(strings.Replace(token, "-", "•", 1))
		return 0, true
	}
	inside, _, _ := strings.Cut(rest, "\n")
	n = len(inside)
	kind := "bold"
	if token == "> " {
		kind = "quote"
		for next, more := strings.CutPrefix(rest[n:], "\n> "); more; next, more = strings.CutPrefix(rest[n:], "\n> ") {
			line, _, _ := strings.Cut(next, "\n")
			inside, n = inside+"\n"+line, n+len("\n> ")+len(line)
		}
	}
	text, marks := l.s.looks(inside)
	for _, m := range marks {
		m.From += Units(before)
		l.marks = append(l.marks, m)
	}
	l.mark(platformtest.Mark{Type: kind}, text)
	return n, true
}

func (l *reading) token(token, rest string) {
	switch {
	case token[0] == '\\':
		l.write(token[1:])
	case strings.HasPrefix(token, "```"):
		body := strings.Trim(token, "`")
		language, code, ok := strings.Cut(body, "\n")
		if !ok {
			language, code = "", body
		}
		l.mark(platformtest.Mark{Type: "pre", Language: language}, strings.TrimRight(code, "\n"))
	case token[0] == '`':
		l.mark(platformtest.Mark{Type: "code"}, strings.Trim(token, "`"))
	case token[0] == '[':
		label, address, _ := strings.Cut(token[1:len(token)-1], "](")
		l.mark(platformtest.Mark{Type: "link", URL: strings.Trim(address, "<>")}, label)
	case strings.HasPrefix(token, "<http"):
		address := strings.Trim(token, "<>")
		l.mark(platformtest.Mark{Type: "link", URL: address}, address)
	case strings.HasPrefix(token, "<@"):
		name := token
		if u := l.s.users[strings.Trim(token, "<@!>")]; u != nil {
			name = "@" + u.Name()
		}
		l.mark(platformtest.Mark{Type: "named"}, name)
	case strings.HasPrefix(token, "http"):
		l.mark(platformtest.Mark{Type: "link", URL: token}, token)
	case token[0] == '<' || token[0] == '@':
		l.mark(platformtest.Mark{Type: "named"}, token)
	default:
		from, open := l.open[token]
		switch {
		case open:
			delete(l.open, token)
			l.marks = append(l.marks, platformtest.Mark{Type: pairs[token], From: from, Length: Units(l.out.String()) - from})
		case strings.Contains(rest, token):
			l.open[token] = Units(l.out.String())
		default:
			l.write(token)
		}
	}
}

// Seen is the text of a message as people see it.
func (s *world) Seen(m Message) string {
	s.Lock()
	defer s.Unlock()
	text, _ := s.looks(m.Content)
	return text
}
