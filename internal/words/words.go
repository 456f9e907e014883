// Package words writes small things as people read them.
package words

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// outcomes are those that say too little without their underscores.
var outcomes = map[string]string{"not_reached": "the goal was not reached", "no_model": "no language model is set up"}

// Outcome is an outcome for people to read.
func Outcome(outcome string) string {
	if words, ok := outcomes[outcome]; ok {
		return words
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// codes are ends of tasks that say too little without their underscores.
var codes = map[string]string{
	"exit_status":    "it ended with an error",
	"timeout":        "it took too long",
	"crash":          "it broke",
	"io":             "the disk failed",
	"model_error":    "the language model gave no answer",
	"ambiguous":      "the time is not clear",
	"several":        "several are meant",
	"bad_time":       "I did not understand the time",
	"past":           "that time is in the past",
	"no_text":        "the text is missing",
	"too_often":      "that is too often",
	"not_found":      "I did not find it",
	"bad_arguments":  "something about it was not clear",
	"not_permitted":  "it is not allowed here",
	"person_away":    "the person is away",
	"workspace_full": "there is no room for more files",
	"file_refused":   "the file was refused",
	"not_a_file":     "it is not a file",
	"exists":         "it exists already",
}

// Code is how a task ended, for people to read.
func Code(code string) string {
	if text, ok := codes[code]; ok {
		return text
	}
	return Outcome(code)
}

// Ended is a state with its outcome for people to read: no word of the outcome stands
// twice, and none that says no more than the state.
func Ended(state, outcome string) string {
	var words []string
	for _, word := range strings.Fields(outcome) {
		word = Outcome(word)
		if word != state && word != "ok" && word != "error" && word != "answered" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return state
	}
	return state + " (" + strings.Join(words, ", ") + ")"
}

// Nearest is the one of words that was probably meant by word: a typing error away, or two in a long one; empty:
// none is.
func Nearest(word string, words []string) string { return Near(word, words, 1+len(word)/10) }

// Near is Nearest of a word that may be so many errors away.
func Near(word string, words []string, errors int) string {
	best, least := "", min(errors, len(word)-1)
	for _, w := range words {
		if d := distance(word, w); d <= least {
			best, least = w, d-1
		}
	}
	return best
}

// distance counts the bytes to insert, drop or change, and the neighbours to swap, to
// get from a to b.
func distance(a, b string) int {
	var before, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		before, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
	}
	return next[len(b)]
}

// Upper is text as the beginning of a sentence.
func Upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}

// OneLine cuts text to n runes and says so.
func OneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// Stamp is how a time is written where it needs its zone.
const Stamp = "2006-01-02 15:04:05 MST"

// At is a time on this machine's clock.
func At(t time.Time) string { return t.Local().Format(Stamp) }

// Count counts something in words; what is its singular.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Size is n bytes for people to read.
func Size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Span is a duration in words.
func Span(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes < 90:
		return Count(minutes, "minute")
	case minutes < 48*60:
		return Count((minutes+30)/60, "hour")
	}
	return Count((minutes+12*60)/(24*60), "day")
}

// Fenced is text as a block of code in Markdown that nothing in the text ends; language may be empty.
func Fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// Escape makes any text mean itself in Markdown.
func Escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|~$&:@=\"'^/", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
