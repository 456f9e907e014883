package memory

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// ErrRuinous says that a consolidation would have left fewer than 30 % of the facts; nothing is to be changed.
var ErrRuinous = errors.New("the consolidation would have left too little")

// A Merged is what several facts become.
type Merged struct {
	Text string
	Of   []int64 // Entry.ID, two or more
}

//go:embed consolidate.md
var consolidatePrompt string

var consolidateTask = task{RoleCurator, consolidatePrompt, "facts", llm.Schema{Name: "consolidate", JSON: []byte(`{"type": "object", "properties": {
	"facts": {"type": "array", "description": "what is left", "items": {"type": "object", "properties": {
		"text": {"type": "string", "description": "the fact"},
		"of": {"type": "array", "items": {"type": "integer"}, "description": "the numbers of the facts in whose place it is"}
	}, "required": ["text", "of"], "additionalProperties": false}}
}, "required": ["facts"], "additionalProperties": false}`)}}

// Consolidate finds the facts of a scope that are one, said twice or made out of date by another. What one person said is looked at by
// itself, so that nobody has a say in what becomes of another's words. A tainted fact is left as it is, and so is one that stays alone,
// whatever the model makes of its words. What fails for one person's words is left as it is, if others' are gone through. ErrRuinous.
func (c Clerk) Consolidate(ctx context.Context, facts []Entry) (merged []Merged, err error) {
	facts = slices.DeleteFunc(slices.Clone(facts), func(e Entry) bool { return e.Taint != tools.Clean })
	var left error
	through := false
	for _, theirs := range ByPerson(facts, func(e Entry) string { return e.Person }) {
		if len(theirs) < 2 {
			continue
		}
		some, err := c.consolidate(ctx, theirs)
		if ForWords(err) {
			left = err
			continue
		} else if err != nil {
			return nil, err
		}
		merged, through = append(merged, some...), true
	}
	if !through {
		return nil, left
	}
	return slices.Clip(merged), nil
}

// consolidate is Consolidate of what one person said.
func (c Clerk) consolidate(ctx context.Context, facts []Entry) (merged []Merged, err error) {
	left := 0
	merged, err = ask(ctx, c, &consolidateTask, func(p *form.Prompt) { entries(p, "Facts", facts) }, func(f *form.Fields) (merged []Merged) {
		left = 0
		placed := make(map[int64]bool)
		for _, raw := range f.List("facts", "facts") {
			m := &form.Fields{Where: "facts: "}
			if m.Open(string(raw), "text", "of"); len(m.Faults) == 0 {
				text, of := strings.TrimSpace(m.Text("text")), m.Numbers("of")
				if fits(m, "text", text); len(of) == 0 {
					m.Fault("of", "empty; name the facts in whose place it is")
				}
				for i, n := range of {
					switch {
					case n < 1 || n > int64(len(facts)):
						m.Fault("of", "there is no fact %d", n)
						continue
					case placed[n]:
						m.Fault("of", "fact %d is there twice", n)
					}
					placed[n], of[i] = true, facts[n-1].ID
				}
				if left++; len(of) > 1 {
					merged = append(merged, Merged{text, of})
				}
			}
			f.Faults = append(f.Faults, m.Faults...)
		}
		for i := range facts {
			if !placed[int64(i+1)] {
				f.Fault("facts", "fact %d is missing; name each exactly once, also those that stay as they are", i+1)
			}
		}
		return merged
	})
	if err != nil {
		return nil, err
	}
	if left*10 < len(facts)*3 {
		return nil, fmt.Errorf("%w: %d of %d facts", ErrRuinous, left, len(facts))
	}
	return merged, nil
}
