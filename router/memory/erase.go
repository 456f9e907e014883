package memory

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"switchboard/agent/memory"
	"switchboard/internal/words"
)

// MostTexts is how many memories of others are shown.
const MostTexts = 10

// An Erased says what is there of somebody, or was removed, and what stays.
type Erased struct {
	Person        string   `json:"person"`
	Messages      int64    `json:"messages"` // that they wrote
	Answers       int64    `json:"answers"`  // that they were given
	Files         int64    `json:"files"`
	Memories      int64    `json:"memories"`           // that they gave
	Others        int64    `json:"memories_of_others"` // that name them
	Texts         []string `json:"texts,omitempty"`    // of some of these, where they are not removed yet
	OthersStay    bool     `json:"others_stay"`        // these are not removed
	Summaries     int64    `json:"summaries"`
	Jobs          int64    `json:"jobs"`
	Notifications int64    `json:"notifications"`
	Prompts       int64    `json:"prompts"`   // requests to models, and what these answered
	AuditRows     int64    `json:"audit"`     // without their name and words from now on
	Naming        int64    `json:"naming"`    // messages of others that name them; they stay
	Folders       int64    `json:"folders"`   // of files, in chats with others; they stay
	Unfinished    int64    `json:"under_way"` // turns of others in these chats that did not end meanwhile
}

// Words says it for people.
func (e *Erased) Words() string {
	var parts []string
	others := e.Others
	if e.OthersStay {
		others = 0
	}
	for _, p := range []struct {
		n            int64
		one, several string
	}{
		{e.Messages, "message", "messages"},
		{e.Answers, "answer", "answers"},
		{e.Files, "file", "files"},
		{e.Memories, "memory", "memories"},
		{others, "memory of others", "memories of others"},
		{e.Jobs, "job", "jobs"},
		{e.Notifications, "notification", "notifications"},
		{e.Prompts, "prompt", "prompts"},
		{e.AuditRows, "row of the audit log", "rows of the audit log"},
		{e.Summaries, "summary, to be made again", "summaries, to be made again"},
	} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.one)
		case p.n > 0:
			parts = append(parts, fmt.Sprint(p.n, " ", p.several))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	return strings.Join(parts, ", ")
}

// Stays says what is left, a line each.
func (e *Erased) Stays() []string {
	var lines []string
	if e.Naming == 1 {
		lines = append(lines, "1 message of others names "+e.Person+"; that stays.")
	} else if e.Naming > 0 {
		lines = append(lines, fmt.Sprintf("%d messages of others name %s; those stay.", e.Naming, e.Person))
	}
	if e.OthersStay && e.Others > 0 {
		lines = append(lines, "Memories of others that name "+e.Person+", and stay: "+fmt.Sprint(e.Others)+".")
	}
	if e.Folders > 0 {
		lines = append(lines, "Files that commands made in "+words.Count(int(e.Folders), "chat")+" with others stay: look into the folder workspaces.")
	}
	return append(lines, "Backups, logs and what the platforms keep are not touched.")
}

// Naming says whether a text names somebody by one of some names, as a whole word, however its accents are written.
func Naming(names []string) func(text string) bool {
	var patterns []*regexp.Regexp
	for _, name := range names {
		patterns = append(patterns, regexp.MustCompile(`(?i)`+regexp.QuoteMeta(norm.NFC.String(name))))
	}
	return func(text string) bool {
		text = norm.NFC.String(text)
		for _, p := range patterns {
			for from := 0; from < len(text); from++ {
				found := p.FindStringIndex(text[from:])
				if found == nil {
					break
				}
				to := from + found[1]
				if from += found[0]; isWord(text, from, to) {
					return true
				}
			}
		}
		return false
	}
}

// isWord says whether a part of a text is a word of its own. Where words have no spaces between them, two characters may be one
// anywhere; a single one is a part of many.
func isWord(text string, from, to int) bool {
	apart := func(edge, next rune) bool {
		if memory.Spaceless(edge) && utf8.RuneCountInString(text[from:to]) > 1 {
			return true
		}
		return !unicode.In(next, unicode.L, unicode.N) || memory.Spaceless(next) && !memory.Spaceless(edge)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	first, _ := utf8.DecodeRuneInString(text[from:to])
	last, _ := utf8.DecodeLastRuneInString(text[from:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return apart(first, before) && apart(last, after)
}
