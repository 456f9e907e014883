package memory

import (
	"context"
	_ "embed"
	"slices"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// fewLearnings may be found in any messages; more than one a message are too many.
const fewLearnings = 10

//go:embed look.md
var lookPrompt string

var lookTask = task{RoleCurator, lookPrompt, "learnings", llm.Schema{Name: "look", JSON: []byte(`{"type": "object", "properties": {
	"learnings": {"type": "array", "items": {"type": "string"}, "description": "what is worth remembering, a sentence each; usually none"}
}, "required": ["learnings"], "additionalProperties": false}`)}}

// Look finds in what a person and the bot said to each other what is worth a learning; usually there is none. Tainted messages are left
// out, so that nothing found is tainted.
func (c Clerk) Look(ctx context.Context, messages []Said) ([]string, error) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(m Said) bool { return m.Taint != tools.Clean })
	if !slices.ContainsFunc(messages, func(m Said) bool { return m.By != "" }) {
		return nil, nil
	}
	return ask(ctx, c, &lookTask, func(p *form.Prompt) { said(p, messages) }, func(f *form.Fields) []string {
		learnings := f.Texts("learnings", "learning")
		if most := max(fewLearnings, len(messages)); len(learnings) > most {
			f.Fault("learnings", "%d are too many; at most %d", len(learnings), most)
		}
		for _, text := range learnings {
			fits(f, "learnings", text)
		}
		return learnings
	})
}
