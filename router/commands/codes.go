package commands

import (
	"strings"
	"unicode"

	"switchboard/internal/words"
)

var codeHyphens = strings.NewReplacer("-", "", " ", "")

// BareCode is a code without its hyphens, however a person writes it.
func BareCode(text string) string { return strings.ToUpper(codeHyphens.Replace(text)) }

// CodeIn splits what stands behind a command such as /approve: the code of a question, as it
// is shown, and the rest. A space may part its two groups. Empty: there is none.
func CodeIn(args string) (code, rest string) {
	for rest = args; len(code) < 8; {
		word, after := rest, ""
		if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
			word, after = rest[:i], strings.TrimSpace(rest[i:])
		}
		word = BareCode(word)
		if word == "" || code != "" && len(code)+len(word) != 8 {
			break
		}
		code, rest = code+word, after
	}
	if len(code) != 8 {
		return "", args
	}
	return code[:4] + "-" + code[4:], rest
}

var nameShape = words.Pattern(`^[\p{L}][\p{L}\p{N}._-]{0,31}$`)

// NameFrom is what to call a new person after how a platform calls them; empty: nothing
// that a command line takes as it is.
func NameFrom(label string) string {
	first, _, _ := strings.Cut(words.OneLine(label, 64), " ")
	if !nameShape().MatchString(first) {
		return ""
	}
	return first
}
