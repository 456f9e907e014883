package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// A token is a word of a text.
type token struct {
	word     string // lower case, without the punctuation around it
	raw      string
	from, to int  // bytes of the text
	meant    bool // it was made from a word of another language, or a name
}

// tokenize cuts a text into words. What is elided is written together with what follows: "d'" in "d'acheter".
func tokenize(text string, elided []string) (tokens []token) {
	from := 0
	add := func(word, raw string) {
		tokens = append(tokens, token{word: word, raw: raw, from: from, to: from + len(raw)})
		from += len(raw)
	}
	for raw := range strings.FieldsSeq(text) {
		from += strings.Index(text[from:], raw)
		if len(raw) > 1 && raw[0] == '@' && isDigit(raw[1:]) { // "@9"
			add("@", "@")
			raw = raw[1:]
		}
		for {
			plain := strings.ReplaceAll(strings.ToLower(raw), "’", "'")
			i := slices.IndexFunc(elided, func(e string) bool { return strings.HasPrefix(plain, e) && len(plain) > len(e) })
			if i < 0 {
				add(strings.TrimLeft(strings.TrimRight(plain, ",;:.!?"), "¿¡"), raw)
				break
			}
			n := len(elided[i])
			if strings.Contains(raw[:min(len(raw), n+2)], "’") {
				n += len("’") - 1
			}
			add(elided[i], raw[:n])
			raw = raw[n:]
		}
	}
	return tokens
}

// A cursor reads what tokens mean by themselves, from left to right. Its methods advance over what they take, and take
// nothing where they answer no.
type cursor struct {
	tokens   []token
	at       int
	dayFirst bool // 5/12 is the fifth of december
	err      error
}

// peek is the word n tokens ahead; empty: there is none.
func (c *cursor) peek(n int) string {
	if c.at+n < len(c.tokens) {
		return c.tokens[c.at+n].word
	}
	return ""
}

// take advances over the first of words that is next, each one of which may be several.
func (c *cursor) take(words ...string) bool {
next:
	for _, w := range words {
		n := 0
		for word := range strings.SplitSeq(w, " ") {
			if word != c.peek(n) {
				continue next
			}
			n++
		}
		c.at += n
		return true
	}
	return false
}

// ended: the last token ends with one of some bytes.
func (c *cursor) ended(with string) bool {
	return c.at > 0 && strings.ContainsAny(c.last().raw[len(c.last().raw)-1:], with)
}

// last is the token that was taken last.
func (c *cursor) last() token { return c.tokens[c.at-1] }

func (c *cursor) reset(at int) bool {
	c.at = at
	return false
}

func (c *cursor) fail(format string, args ...any) bool {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	return false
}

func isDigit(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

func isLetter(word string) bool { return word != "" && !isDigit(word) }
