package memory

import (
	"context"
	"slices"
	"strings"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// What becomes of a learning.
const (
	Promote = "promote" // it becomes a fact, a preference or a rule
	AskFor  = "ask"     // a question becomes of it
	Discard = "discard"
)

// A Case is what the curator sees.
type Case struct {
	Learnings    []Entry // to be judged, of one person and scope
	Known        []Entry // facts and preferences of that scope
	Questions    []Entry // that are open
	Summary      string  // of the session; empty: there is none
	SummaryTaint tools.Taint
}

// A Verdict says what becomes of one learning.
type Verdict struct {
	Learning int64  // Entry.ID
	Action   string // Promote, AskFor or Discard
	Kind     Kind   // Promote: Fact, Preference or Rule
	Category string // of a preference or a rule
	Key      string // of a preference
	Text     string // of what it becomes; Discard: empty
	Replaces int64  // Promote: Entry.ID of what it makes out of date; 0: nothing
	Reason   string // Discard: why
}

var curateTask = task{RoleCurator, "", "verdicts", llm.Schema{Name: "curate", JSON: []byte(`{"type": "object", "properties": {
	"verdicts": {"type": "array", "description": "one for each learning", "items": {"type": "object", "properties": {
		"learning": {"type": "integer", "description": "its number"},
		"verdict": {"type": "string", "enum": ["promote", "ask", "discard"]},
		"kind": {"type": ["string", "null"], "description": "promote: fact, preference or, where rules may be proposed, rule; otherwise null"},
		"category": {"type": ["string", "null"], "description": "preference: a word for what it is about; rule: general, style, channel, scheduling or tools; otherwise null"},
		"key": {"type": ["string", "null"], "description": "preference: a word or two for what is preferred of it; otherwise null"},
		"text": {"type": ["string", "null"], "description": "promote: the sentence to remember; ask: the question; otherwise null"},
		"replaces": {"type": ["integer", "null"], "description": "promote: the number of what is known already and no longer true with it; otherwise null"},
		"reason": {"type": ["string", "null"], "description": "discard: why; otherwise null"}
	}, "required": ["learning", "verdict", "kind", "category", "key", "text", "replaces", "reason"], "additionalProperties": false}}
}, "required": ["verdicts"], "additionalProperties": false}`)}}

// Curate judges learnings, each exactly once: the clean ones or, where there are none, the tainted ones, so that no outside text has a say
// in what becomes of a clean one. The caller comes again for those that are left. None that is tainted is promoted,
// and no rule where Rules is false, whatever the model says. Tainted is also what others said than who said the first learning.
func (c Clerk) Curate(ctx context.Context, k Case) ([]Verdict, error) {
	if len(k.Learnings) == 0 {
		return nil, nil
	}
	person := k.Learnings[0].Person
	k.Learnings, k.Known, k.Questions = heard(person, k.Learnings), heard(person, k.Known), heard(person, k.Questions)
	isClean := func(e Entry) bool { return e.Taint == tools.Clean }
	clean := func(list []Entry) []Entry {
		return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return !isClean(e) })
	}
	if slices.ContainsFunc(k.Learnings, isClean) {
		k.Learnings, k.Known, k.Questions = clean(k.Learnings), clean(k.Known), clean(k.Questions)
		if k.SummaryTaint != tools.Clean {
			k.Summary = ""
		}
	}
	return ask(ctx, c, &curateTask, func(p *form.Prompt) {
		entries(p, "Known already", k.Known)
		entries(p, "Open questions", k.Questions)
		if k.Summary != "" {
			p.Section("Summary so far")
			p.Words("", k.Summary, k.SummaryTaint != tools.Clean)
		}
		entries(p, "Learnings", k.Learnings)
		if c.Rules {
			p.Linef("Rules may be proposed.")
		}
	}, func(f *form.Fields) []Verdict { return c.readVerdicts(f, &k) })
}

func (c Clerk) readVerdicts(f *form.Fields, k *Case) (verdicts []Verdict) {
	judged, replaced := make(map[int64]bool), make(map[int64]bool)
	for _, raw := range f.List("verdicts", "verdicts") {
		v := &form.Fields{Where: "verdicts: "}
		v.Open(string(raw), "learning", "verdict", "kind", "category", "key", "text", "replaces", "reason")
		n := v.Number("learning")
		switch {
		case len(v.Faults) > 0:
			f.Faults = append(f.Faults, v.Faults...)
			continue
		case n < 1 || n > int64(len(k.Learnings)):
			f.Fault("verdicts", "there is no learning %d", n)
			continue
		case judged[n]:
			f.Fault("verdicts", "learning %d is judged twice", n)
			continue
		}
		judged[n] = true
		verdict := c.readVerdict(v, k, &k.Learnings[n-1])
		if replaced[verdict.Replaces] {
			v.Fault("replaces", "two verdicts replace the same; make them one, and discard the other")
		}
		replaced[verdict.Replaces] = verdict.Replaces > 0
		verdicts = append(verdicts, verdict)
		f.Faults = append(f.Faults, v.Faults...)
	}
	for i := range k.Learnings {
		if !judged[int64(i+1)] {
			f.Fault("verdicts", "learning %d is not judged", i+1)
		}
	}
	return verdicts
}

// readVerdict reads the verdict on one learning, and refuses what no model may decide.
func (c Clerk) readVerdict(v *form.Fields, k *Case, of *Entry) Verdict {
	text := func(name string) string {
		if s := v.Optional(name); s != nil {
			return strings.TrimSpace(*s)
		}
		return ""
	}
	verdict := Verdict{Learning: of.ID, Action: v.Text("verdict"), Text: text("text"), Reason: text("reason")}
	discard := func(why string) Verdict { return Verdict{Learning: of.ID, Action: Discard, Reason: why} }
	switch verdict.Action {
	case Discard:
		if verdict.Text = ""; verdict.Reason == "" {
			v.Fault("reason", "missing; say why it is discarded")
		}
		return verdict
	case Promote, AskFor:
	default:
		v.Fault("verdict", "must be promote, ask or discard")
		return verdict
	}
	verdict.Reason = ""
	if verdict.Action == Promote && of.Taint != tools.Clean {
		return discard("it comes from " + of.Taint.Words() + ", and nobody confirmed it")
	}
	if verdict.Text == "" {
		v.Fault("text", "missing; write what is to be remembered or asked")
	}
	if fits(v, "text", verdict.Text); verdict.Action == AskFor {
		return verdict
	}
	switch verdict.Kind = Kind(text("kind")); verdict.Kind {
	case Fact:
	case Preference:
		verdict.Category, verdict.Key = named(v, "category", text("category")), named(v, "key", text("key"))
	case Rule:
		if !c.Rules {
			return discard("no rules are proposed here ([agent] self_evolution)")
		}
		if verdict.Category = text("category"); !slices.Contains(RuleCategories, verdict.Category) {
			v.Fault("category", "of a rule must be one of %s", strings.Join(RuleCategories, ", "))
		}
	default:
		v.Fault("kind", "must be fact, preference or rule")
	}
	switch n := v.Number("replaces"); {
	case n < 0 || n > int64(len(k.Known)):
		v.Fault("replaces", "nothing that is known already has the number %d", n)
	case n > 0:
		verdict.Replaces = k.Known[n-1].ID
	}
	return verdict
}

// named is a category or a key: a word or a few, in lower case.
func named(v *form.Fields, field, text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if n := len([]rune(text)); n == 0 || n > 40 {
		v.Fault(field, "of a preference must be a word or a few, of at most 40 characters")
	}
	return text
}
