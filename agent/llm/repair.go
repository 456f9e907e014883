package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxNesting is how deep objects and lists may stand in each other.
const maxNesting = 100

// repaired returns the JSON of a structured answer: text itself where it is JSON, or
// else the only object that stands in it, with what models without strict structured
// output get wrong put right: a fence or prose around it, a comma too many, single
// quotes, line breaks in strings, True, False and None. Empty: there is none, or more
// than one, of which nobody can say which is meant.
func repaired(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	m := repairer{in: text}
	found := ""
	for {
		next := strings.IndexByte(m.in[m.at:], '{')
		if next < 0 {
			return found
		}
		m.at += next
		m.out.Reset()
		whole := m.value(0)
		if !whole && bytes.IndexByte(m.out.Bytes(), ':') < 0 {
			continue // a brace in the prose
		}
		// What stands inside of a broken object may be anybody's text.
		if !whole || !json.Valid(m.out.Bytes()) || found != "" && found != m.out.String() {
			return ""
		}
		found = m.out.String()
	}
}

// A repairer copies one value of JSON and puts it right. Each method reports whether
// what it is for stands there, and always moves on.
type repairer struct {
	in  string
	at  int
	out bytes.Buffer
}

// peek is the next byte that is no space; 0 at the end.
func (m *repairer) peek() byte {
	for m.at < len(m.in) && isSpace(m.in[m.at]) {
		m.at++
	}
	if m.at == len(m.in) {
		return 0
	}
	return m.in[m.at]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (m *repairer) value(depth int) bool {
	switch c := m.peek(); {
	case depth > maxNesting:
		return false
	case c == '{':
		return m.list('}', func() bool {
			if !m.quoted() || m.peek() != ':' {
				return false
			}
			m.at++
			m.out.WriteByte(':')
			return m.value(depth + 1)
		})
	case c == '[':
		return m.list(']', func() bool { return m.value(depth + 1) })
	case c == '"', c == '\'':
		return m.quoted()
	}
	return m.word()
}

// list copies what stands between two brackets, without a comma too many.
func (m *repairer) list(end byte, item func() bool) bool {
	m.out.WriteByte(m.in[m.at])
	m.at++
	for first := true; ; first = false {
		if m.peek() == end {
			break
		}
		if !first {
			m.out.WriteByte(',')
		}
		if !item() {
			return false
		}
		if m.peek() != ',' {
			break
		}
		m.at++
	}
	if m.peek() != end {
		return false
	}
	m.at++
	m.out.WriteByte(end)
	return true
}

// quoted copies a string into double quotes.
func (m *repairer) quoted() bool {
	quote := m.peek()
	if quote != '"' && quote != '\'' {
		return false
	}
	m.out.WriteByte('"')
	for m.at++; m.at < len(m.in); m.at++ {
		switch c := m.in[m.at]; {
		case c == quote:
			m.at++
			m.out.WriteByte('"')
			return true
		case c == '\\' && m.at+1 < len(m.in):
			m.at++
			if m.in[m.at] != '\'' { // the only escape that JSON does not have
				m.out.WriteByte('\\')
			}
			m.out.WriteByte(m.in[m.at])
		case c == '"':
			m.out.WriteString(`\"`)
		case c == '\n':
			m.out.WriteString(`\n`)
		case c == '\t':
			m.out.WriteString(`\t`)
		case c == '\r':
			m.out.WriteString(`\r`)
		default:
			m.out.WriteByte(c)
		}
	}
	return false
}

// word copies a number, or one of the words that JSON or Python has.
func (m *repairer) word() bool {
	start := m.at
	for m.at < len(m.in) && strings.IndexByte("+-.", m.in[m.at]) >= 0 || m.at < len(m.in) && isAlphanumeric(m.in[m.at]) {
		m.at++
	}
	word := m.in[start:m.at]
	switch word {
	case "True", "False":
		word = strings.ToLower(word)
	case "None":
		word = "null"
	}
	m.out.WriteString(word)
	return word != "" && json.Valid([]byte(word))
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
