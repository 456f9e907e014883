package memory

import (
	"context"
	"slices"
	"strings"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// maxReport bounds a report on one message, in characters.
const maxReport = 500

var paraphraseTask = task{RoleParaphraser, "", "reports", llm.Schema{Name: "paraphrase", JSON: []byte(`{"type": "object", "properties": {
	"reports": {"type": "array", "items": {"type": "string"}, "description": "one for each message, in their order"}
}, "required": ["reports"], "additionalProperties": false}`)}}

// Paraphrase reports in the third person what strangers wrote, a line a message, in their order. What it says is tainted as they are.
func (c Clerk) Paraphrase(ctx context.Context, lines []Said) ([]string, error) {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Taint = lines[i].Taint.Join(tools.Others)
	}
	return ask(ctx, c, &paraphraseTask, func(p *form.Prompt) { said(p, lines) }, func(f *form.Fields) []string {
		reports := f.Texts("reports", "report")
		if len(reports) != len(lines) {
			f.Fault("reports", "there are %d for %d messages; write one for each", len(reports), len(lines))
		}
		for i, report := range reports {
			reports[i] = strings.Join(strings.Fields(report), " ")
			if strings.Contains(report, "://") || strings.Contains(report, "`") || len([]rune(report)) > maxReport {
				f.Fault("reports", "report %d has a link or code, or more than %d characters; leave these out", i+1, maxReport)
			}
		}
		return reports
	})
}
