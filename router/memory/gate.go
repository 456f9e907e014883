package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/secrets"
	"switchboard/router/decision"
)

// How a memory came to be: Entry.Source.
const (
	Said    = "said"    // a person asked for it in plain words
	Command = "command" // a person wrote it by command
	Import  = "import"
)

// unasked are sources of what nobody asked for.
var unasked = []string{"review", "rest", "curator", "merge"}

// A Writer is who writes a memory, and where.
type Writer struct {
	Person string // in whose name; empty: nobody's
	Admin  bool   // they are an admin, and said it themselves
	Place  memory.Place
	// Machine: the operator on the machine, who may write in any scope.
	Machine bool
}

// The rules of the gate.
const (
	ruleRole     = "memory.role"
	ruleScope    = "memory.scope"
	rulePrivate  = "memory.private"
	ruleLearning = "memory.learning"
	ruleTaint    = "memory.taint"
	ruleSize     = "memory.size"
	ruleCategory = "memory.category"
	ruleKind     = "memory.kind"
)

// Write is the one gate, memory.write: the change that writes e, in place of others if some are named, or that says by which
// rule it is refused. Whoever writes a memory, for whatever reason, has it from here: the store takes no other. Secrets are
// masked. Where a policy service is set it is asked last. An error is the database's.
func (s *Service) Write(ctx context.Context, w *Writer, e memory.Entry, instead ...int64) (*Change, error) {
	own, err := s.Store.MemorySettings(ctx, w.Person)
	if err != nil {
		return nil, err
	}
	cfg := s.Settings()
	e.Text = strings.TrimSpace(s.Hide(e.Text))
	e.Category, e.Key = strings.ToLower(strings.TrimSpace(s.Hide(e.Category))), strings.ToLower(strings.TrimSpace(s.Hide(e.Key)))
	e.Person = w.Person
	if e.Confidence == 0 {
		e.Confidence = 1
	}
	if e.Scope == "" {
		e.Scope = w.Place.Own()
	}
	c := &Change{Kind: Add, Entry: e, IDs: instead, judged: true}
	c.Refusal, c.NoAnswer = s.judge(ctx, w, &e, &own, &cfg)
	if len(instead) > 0 {
		c.Kind, c.Of = Correct, s.mayChange(w)
		c.By = onlyOf(w)
	}
	if expire := expires(&own, &cfg); expire > 0 && !e.Kept && (e.Kind == memory.Fact || e.Kind == memory.Question) {
		c.Expires = s.Now().Add(expire)
	}
	return c, nil
}

// expires is after how long what is not used is forgotten; 0: never.
func expires(own *Settings, cfg *memory.Config) time.Duration {
	if own.Expire > 0 {
		return time.Duration(own.Expire) * 24 * time.Hour
	}
	return cfg.ExpireAfter
}

// refusal is why e is not written; nil: it is.
func refusal(w *Writer, e *memory.Entry, own *Settings, cfg *memory.Config) *Refusal {
	no := func(rule, format string, args ...any) *Refusal { return &Refusal{rule, fmt.Sprintf(format, args...)} }
	denied := slices.Concat(cfg.DeniedCategories, own.Denied)
	category := memory.Denied(denied, e.Category, strings.Join([]string{e.Category, e.Key, e.Text}, " "))
	tokens := llm.Tokens(e.Category + e.Key + e.Text)
	switch automatic := slices.Contains(unasked, e.Source); {
	case e.Text == "":
		return no(ruleKind, "There is nothing to remember.")
	case strings.Trim(strings.ReplaceAll(e.Text, secrets.Placeholder, ""), " .") == "":
		return no(ruleKind, "That is a secret, so I do not keep it.")
	case e.Key != "" && e.Kind != memory.Preference:
		return no(ruleKind, "Only a preference has a name.")
	case e.Kind == memory.Preference && (e.Category == "" || e.Key == ""):
		return no(ruleKind, "A preference needs a category and a name, such as \"style\" and \"length\".")
	case e.Kind == memory.Rule && !slices.Contains(memory.RuleCategories, e.Category):
		return no(ruleKind, "A rule is one of %s.", strings.Join(memory.RuleCategories, ", "))
	case !slices.Contains([]memory.Kind{memory.Fact, memory.Preference, memory.Rule, memory.Question}, e.Kind),
		strings.Contains(e.Text, "\x00"):
		return no(ruleKind, "That is not something that I can remember.")
	case (e.Scope == memory.Global || e.Always) && !w.Admin && !w.Machine:
		return no(ruleRole, "Only admins can have everybody's answers changed.")
	case e.Always && (e.Kind != memory.Rule || e.Scope != memory.Global):
		return no(ruleKind, "Only a rule for everybody can stand in every prompt.")
	case e.Kind == memory.Rule && !w.Place.Direct && !w.Admin && !w.Machine: // it holds for all of them
		return no(ruleRole, "Others talk with me here too, so only an admin can make a rule here.")
	case !w.Machine && e.Scope != memory.Global && e.Scope != w.Place.Own() && e.Scope != memory.OfSession(w.Place.Session):
		return no(ruleScope, "What is said here stays here.")
	case !w.Machine && e.Scope != memory.Global && w.Place.Direct && w.Person == "":
		return no(ruleScope, "I do not know whose memory that would be.")
	case w.Place.Private && e.Scope != memory.Global:
		return no(rulePrivate, "This chat is private, so I remember nothing of it. /private off changes that.")
	case automatic && !(own.Learning && cfg.Learning):
		return no(ruleLearning, "Nothing is to be learned unasked.")
	case e.Taint != tools.Clean && (e.Kind == memory.Rule || e.Kind == memory.Preference):
		return no(ruleTaint, "That comes from %s, so I do not make it a rule or a preference. Write it yourself if you want it.", e.Taint.Words())
	case tokens > memory.MaxTokens:
		return no(ruleSize, "That is too long to remember as one: some %d tokens, and %d are the most. Split it into %d or more, one thought each.",
			tokens, memory.MaxTokens, tokens/memory.MaxTokens+1)
	case category != "":
		return no(ruleCategory, "I remember nothing about %s: it is switched off.", category)
	}
	return nil
}

// judge is why e is not kept; nil: it is. noAnswer is permitted's.
func (s *Service) judge(ctx context.Context, w *Writer, e *memory.Entry, own *Settings, cfg *memory.Config) (no *Refusal, noAnswer error) {
	if no = refusal(w, e, own, cfg); no != nil {
		return no, nil
	}
	return s.permitted(ctx, w, e)
}

// permitted asks the policy service, where there is one, whether e may be written; noAnswer: it is refused because none came.
func (s *Service) permitted(ctx context.Context, w *Writer, e *memory.Entry) (no *Refusal, noAnswer error) {
	if !s.Policy.Set() {
		return nil, nil
	}
	role := ""
	if p := s.Person(w.Person); p != nil {
		role = p.Role
	}
	err := s.Policy.Ask(ctx, decision.Question{
		Action: decision.MemoryWrite, Person: w.Person, Role: role, Channel: w.Place.Channel, Scope: string(e.Scope), Kind: string(e.Kind), Taint: string(e.Taint),
	})
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, decision.ErrRefused):
		return &Refusal{decision.Rule, "The service that decides what I may remember does not allow that."}, nil
	}
	return &Refusal{decision.Rule, "The service that decides what I may remember does not answer. Please try again later."}, err
}

// write is Write, which fails where the policy service does not answer: work at rest is tried again.
func (r *Rester) write(ctx context.Context, w *Writer, e memory.Entry, instead ...int64) (*Change, error) {
	c, err := r.Write(ctx, w, e, instead...)
	if err == nil {
		err = c.NoAnswer
	}
	return c, err
}

// heard fails where the policy service does not answer, before a model is paid for what could not be written.
func (r *Rester) heard(ctx context.Context, at *memory.Place, taint tools.Taint) error {
	_, err := r.permitted(ctx, &Writer{Person: at.Person, Place: *at}, &memory.Entry{Kind: memory.Fact, Scope: at.Own(), Taint: taint})
	return err
}

// mayChange is in which scopes somebody may change what is remembered; nil: in all.
func (s *Service) mayChange(w *Writer) []memory.Scope {
	if w.Machine {
		return nil
	}
	scopes := []memory.Scope{w.Place.Own(), memory.OfSession(w.Place.Session)}
	if w.Admin && w.Place.Direct {
		scopes = append(scopes, memory.Global)
	}
	return scopes
}

// onlyOf is whose memories alone somebody may change where others take part; empty: anybody's.
func onlyOf(w *Writer) string {
	if w.Machine || w.Admin || w.Place.Direct {
		return ""
	}
	return w.Person
}

// change is a change of memories that are there.
func (s *Service) change(w *Writer, kind ChangeKind, ids ...int64) *Change {
	return &Change{Kind: kind, IDs: ids, Of: s.mayChange(w), By: onlyOf(w), judged: true}
}

// ForgetAs is the change that forgets a memory for somebody.
func (s *Service) ForgetAs(w *Writer, id int64) *Change { return s.change(w, Forget, id) }

// confirmed is the change that keeps a memory, or has a rule stand in every prompt.
func (s *Service) confirmed(ctx context.Context, w *Writer, does ChangeKind, e memory.Entry) (*Change, error) {
	own, err := s.Store.MemorySettings(ctx, w.Person)
	if err != nil {
		return nil, err
	}
	e.Source = Command
	if does == Always {
		e.Always, e.Scope = true, memory.Global
	}
	cfg := s.Settings()
	c := s.change(w, does, e.ID)
	c.Refusal, c.NoAnswer = s.judge(ctx, w, &e, &own, &cfg)
	return c, nil
}

// SetOwn is the change that sets what a person wants of what is remembered of them.
func (s *Service) SetOwn(person string, to Settings) *Change {
	return &Change{Kind: SetSettings, Person: person, Settings: to, judged: true}
}
