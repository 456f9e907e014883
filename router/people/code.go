package people

import (
	"crypto/rand"
	"regexp"
	"strings"
	"sync"
	"time"

	"switchboard/router/commands"
)

const (
	// ClaimLive is how long a claim code is good.
	ClaimLive = 24 * time.Hour
	// CodeTries are how many codes, of all kinds, one identity may try within codeWindow.
	CodeTries  = 5
	codeWindow = time.Hour
	// codeLetters are the letters of a code, of 5 bits each: with so few tries nobody
	// guesses one.
	codeLetters = 12
	codeDigits  = "234567"
)

// Hyphens is a code as it is shown.
func Hyphens(text string) string { return text[:4] + "-" + text[4:8] + "-" + text[8:] }

// newCode is a text of codeLetters, a digit among them: so it is never taken for words.
func newCode() (text string) {
	for !strings.ContainsAny(text, codeDigits) {
		text = rand.Text()[:codeLetters]
	}
	return text
}

var codeShape = regexp.MustCompile(`^[A-Z2-7]{12}$`) // of claim and link codes

// PairingShape is that of the codes that strangers are shown, without the hyphen.
var PairingShape = regexp.MustCompile(`^[A-Z2-7]{8}$`)

// LongCode is the claim or link code that a person means; empty: it is none.
func LongCode(text string) string {
	code := commands.BareCode(text)
	if !codeShape.MatchString(code) {
		return ""
	}
	return code
}

// BringsCode are the commands that a code may follow, by the kind of code; a link brings
// one of any kind by /start.
var BringsCode = map[string]string{"claim": ActionClaim, "link": ActionLink, "start": ""}

// hyphened finds words with their hyphens, of which a code is a whole one: it is no part of
// a UUID or of an address.
var hyphened = regexp.MustCompile(`[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*`)

// Redacted stands where a secret or a code was.
const Redacted = "[redacted]"

// WithoutCodes is a text without the codes in it, and without all that follows a command
// that brings one, which may be a code with a slip in it.
func WithoutCodes(text string) string {
	if name, args, ok := commands.In(text); ok && args != "" {
		if _, brings := BringsCode[name]; brings {
			return "/" + name + " " + Redacted
		}
	}
	return hyphened.ReplaceAllStringFunc(text, func(word string) string {
		if len(word) == codeLetters+2 && word[4] == '-' && word[9] == '-' && LongCode(word) != "" && strings.ContainsAny(word, codeDigits) {
			return Redacted
		}
		return word
	})
}

// Tries remembers who tried codes within codeWindow. The zero value knows of nobody.
type Tries struct {
	mu    sync.Mutex
	at    map[string][]time.Time // by identity
	swept time.Time
}

// Within is how many codes an identity tried lately.
func (c *Tries) Within(identity string, now time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.at[identity] {
		if now.Sub(at) < codeWindow {
			n++
		}
	}
	return n
}

// Count notes a try.
func (c *Tries) Count(identity string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept) > time.Minute {
		c.swept = now
		for who, tries := range c.at {
			if now.Sub(tries[len(tries)-1]) >= codeWindow {
				delete(c.at, who)
			}
		}
	}
	if c.at == nil {
		c.at = map[string][]time.Time{}
	}
	tries := append(c.at[identity], now)
	c.at[identity] = tries[max(0, len(tries)-CodeTries):]
}
