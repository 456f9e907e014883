package memory

import (
	"context"
	"strings"
	"unicode/utf8"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// MaxSummary bounds a summary, in words; summaryTokens bounds it in scripts without spaces.
const (
	MaxSummary    = 400
	summaryTokens = 1200
)

// Sentences are those of a summary, by their marks: a name such as "Dr. Ott" parts one too.
func Sentences(summary string) (list []string) {
	from := 0
	for i, r := range summary {
		if end := i + utf8.RuneLen(r); strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?", r) && (end == len(summary) || summary[end] == ' ') {
			list, from = append(list, strings.TrimSpace(summary[from:end])), end
		}
	}
	if rest := strings.TrimSpace(summary[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

var summaryTask = task{RoleSummarizer, "", "sentences", llm.Schema{Name: "summary", JSON: []byte(`{"type": "object", "properties": {
	"sentences": {"type": "array", "items": {"type": "string"}, "description": "the new summary, a sentence each"}
}, "required": ["sentences"], "additionalProperties": false}`)}}

// Summarize makes the summary of a conversation from the one so far (empty: there is none) and the messages behind it, of both sides. The
// taint is that of all it was made of.
func (c Clerk) Summarize(ctx context.Context, summary string, taint tools.Taint, messages []Said) (string, tools.Taint, error) {
	for _, m := range messages {
		taint = taint.Join(m.Taint)
	}
	made, err := ask(ctx, c, &summaryTask, func(p *form.Prompt) {
		if summary != "" {
			p.Section("Summary so far")
			p.Words("", summary, taint != tools.Clean)
		}
		said(p, messages)
	}, func(f *form.Fields) string {
		made := strings.Join(f.Texts("sentences", "sentence"), " ")
		if n := len(strings.Fields(made)); n > MaxSummary || llm.Tokens(made) > summaryTokens {
			f.Fault("sentences", "%d words are too many; at most %d", n, MaxSummary)
		} else if n == 0 {
			f.Fault("sentences", "there are none; write the summary")
		}
		return made
	})
	if err != nil {
		return "", "", err
	}
	return made, taint, nil
}
