package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/router/core"
)

var _ tools.Memory = (*Service)(nil)

// calling is for whom a tool is used, and where. A tool has none of an admin's rights.
func (s *Service) calling(ctx context.Context, call *tools.Call) (*Writer, error) {
	w, err := s.at(ctx, core.OfSession(call.Session.ID), call.Session.Person, false)
	if err == nil && w.Place.Session == 0 {
		err = core.ErrNotFound
	}
	return w, err
}

// Search implements tools.Memory.
func (s *Service) Search(ctx context.Context, call tools.Call, which tools.Remembered) tools.Result {
	w, err := s.calling(ctx, &call)
	if err != nil {
		return unavailable(err)
	}
	const most = 30
	list, said, err := s.found(ctx, w, which.Which, most+1)
	if err != nil {
		return unavailable(err)
	}
	var b strings.Builder
	switch {
	case w.Place.Private:
		b.WriteString("This chat is private: I learn nothing here, and recall nothing. /memory lists what I remember.\n")
	case len(list)+len(said) == 0:
		return tools.Result{End: tools.EndOK, Output: "Nothing is remembered about that."}
	}
	shown := list[:min(len(list), most)]
	for _, e := range shown {
		b.WriteString(line(&e, w.Person) + "\n")
	}
	if len(list) > most {
		b.WriteString("There are more: search for words.\n")
	}
	taint := taintOf(w.Person, shown...)
	for i := range said {
		h := &said[i]
		taint = taint.Join(h.TaintFor(w.Person))
		fmt.Fprintf(&b, "- %s (%s)\n", h.Line(time.UTC), core.ChatWords(core.OfSession(h.Session), core.OfSession(call.Session.ID)))
	}
	return tools.Result{End: tools.EndOK, Output: b.String(), Taint: taint}
}

// saidTokens is how much of what was said and found one search shows.
const saidTokens = 2000

// found is what memory.search finds: what surfaces at the place, by a number, a kind or words; all memories without. By words also what
// people said there, summaries, and what tools brought.
func (s *Service) found(ctx context.Context, w *Writer, which string, limit int) (list []memory.Entry, said []memory.Hit, err error) {
	f := Filter{Scopes: w.Place.Scopes(), Limit: limit}
	id, isNumber := numberOf(which)
	switch kind := kindOf(which); {
	case w.Place.Private:
		f.Kinds, f.Scopes = []memory.Kind{memory.Rule}, []memory.Scope{memory.Global}
	case isNumber:
		f.IDs, f.All = []int64{id}, true
	case kind != "":
		f.Kinds = []memory.Kind{kind}
	case which != "":
		if list, err = s.named(ctx, w, f.Scopes, which); err != nil {
			return nil, nil, err
		}
		q := memory.Query{Scopes: f.Scopes, Said: true, Tainted: true, Meaning: which, For: w.Person}
		if said, err = memory.Recall(ctx, s.Store, which, q, saidTokens); err == nil && len(said) == 0 {
			q.Loose = true // it is very common, so that it finds nothing by itself
			said, err = memory.Recall(ctx, s.Store, which, q, saidTokens)
		}
		return list[:min(len(list), limit)], said, err
	}
	list, err = s.Store.Memories(ctx, f)
	return w.without(list), nil, err
}

// line is a memory as a model reads it for a person.
func line(e *memory.Entry, person string) string {
	said := strings.Join(strings.Fields(e.Text), " ")
	if e.Key != "" {
		said = e.Category + "/" + e.Key + ": " + said
	}
	where := ""
	if e.Session != "" {
		where = " in " + core.ChatWords(core.OfSession(e.Session), channels.Conversation{})
	}
	if e.Person != "" && e.Person != person {
		where += ", by " + e.Person
	}
	if e.Taint != tools.Clean {
		where += ", not sure: it comes from " + e.Taint.Words()
	}
	return fmt.Sprintf("- %d: %s (%s, %s, %s%s)", e.ID, said, e.Kind, sources[e.Source], e.CreatedAt.UTC().Format(time.DateOnly), where)
}

// Remember implements tools.Memory. What was read does not taint it: where something was, its words are the person's own, or they
// were asked, which the tool's Keeps says.
func (s *Service) Remember(ctx context.Context, call tools.Call, what tools.NewMemory) tools.Result {
	if call.Session.Alone && call.Taint != tools.Clean {
		return refused(&Refusal{ruleTaint, "A job that has read " + call.Taint.Words() + " keeps nothing: nobody is there to see it."})
	}
	w, err := s.calling(ctx, &call)
	if err != nil {
		return unavailable(err)
	}
	if what.Kind == tools.MemoryRule && !s.Proposes() {
		return refused(&Refusal{ruleKind, "I make no rules of my own here. You can: /learn and the rule."})
	}
	var instead []int64
	kept := memory.Entry{
		Kind: memory.Kind(what.Kind), Category: what.Category, Key: what.Key, Text: what.Text, Source: Said, Kept: true, Session: call.Session.ID, Turn: call.Session.Turn,
	}
	if kept.Kind == memory.Rule && kept.Category == "" {
		kept.Category = memory.RuleCategories[0]
	}
	if what.Instead != "" {
		old, err := s.which(ctx, w, &call, what.Instead)
		if err != nil {
			return notOne(w.Person, err)
		}
		instead = []int64{old.ID}
		kept.Scope = old.Scope
	}
	change, err := s.Write(ctx, w, kept, instead...)
	return s.made(ctx, &call, change, err)
}

// Forget implements tools.Memory.
func (s *Service) Forget(ctx context.Context, call tools.Call, which tools.Remembered) tools.Result {
	w, err := s.calling(ctx, &call)
	if err != nil {
		return unavailable(err)
	}
	e, err := s.which(ctx, w, &call, which.Which)
	if err != nil {
		return notOne(w.Person, err)
	}
	return s.made(ctx, &call, s.ForgetAs(w, e.ID), nil)
}

// forgets are how people say that something is to be forgotten, in English, German, Spanish, French and Italian.
var forgets = []string{
	"forget", "remove", "delete", "erase", "drop", "vergiss", "lösche", "lösch", "entferne", "streiche", "olvida", "olvídalo", "borra", "bórralo", "quita",
	"oublie", "efface", "supprime", "dimentica", "dimenticalo", "cancella", "cancellalo", "elimina",
}

// DescribeForget implements tools.Memory: "forget memory 42: The deploy key rotates on Fridays."
func (s *Service) DescribeForget(ctx context.Context, call tools.Call, which tools.Remembered) tools.Deed {
	no := func(why tools.Result) tools.Deed { return tools.Deed{Refused: &why} }
	w, err := s.calling(ctx, &call)
	if err != nil {
		return no(unavailable(err))
	}
	e, err := s.which(ctx, w, &call, which.Which)
	if err != nil {
		return no(notOne(w.Person, err))
	}
	deed := tools.Deed{Words: fmt.Sprintf("forget memory %d: %s", e.ID, words.OneLine(e.Text, 300)), Taint: e.TaintFor(w.Person)}
	if e.Person != w.Person || w.Person == "" {
		return deed
	}
	deed.Asked = [][]string{forgets}
	switch spoken, sure, err := s.spokenOf(ctx, w, &call); {
	case err != nil:
		return no(unavailable(err))
	case spoken == nil || spoken.ID != e.ID || !sure:
		deed.Asked = append(deed.Asked, calledSo(e))
	}
	return deed
}

// callings are how people name a memory, before its number.
var callings = []string{
	"memory", "fact", "preference", "rule", "number", "erinnerung", "fakt", "vorliebe", "regel", "nummer", "recuerdo", "hecho", "preferencia", "regla", "número",
	"souvenir", "fait", "préférence", "règle", "numéro", "ricordo", "fatto", "preferenza", "regola", "numero",
}

// calledSo is how a person says which memory is meant: by its number or its words.
func calledSo(e *memory.Entry) []string {
	ways := []string{fmt.Sprintf("#%d", e.ID), e.Text}
	for _, before := range slices.Concat(callings, forgets) {
		ways = append(ways, fmt.Sprintf("%s %d", before, e.ID))
	}
	return ways
}

// severalError says that words mean several memories, or none; unnamed: nobody said which.
type severalError struct {
	list    []memory.Entry
	unnamed bool
}

func (e *severalError) Error() string { return fmt.Sprintf("%d memories are meant", len(e.list)) }

// which is the one memory that is meant by a number or words, of what the person may change, and by all its words if several have them;
// without, what was spoken of last in the chat.
func (s *Service) which(ctx context.Context, w *Writer, call *tools.Call, which string) (*memory.Entry, error) {
	if strings.TrimSpace(which) == "" {
		e, _, err := s.spokenOf(ctx, w, call)
		if err == nil && e == nil {
			err = &severalError{unnamed: true}
		}
		return e, err
	}
	list, err := s.find(ctx, w, which)
	for _, same := range []func(e memory.Entry) bool{
		func(e memory.Entry) bool { return strings.EqualFold(e.Text, strings.TrimSpace(which)) },
		func(e memory.Entry) bool { return plain(e.Text) == plain(which) },
	} {
		if i := slices.IndexFunc(list, same); i >= 0 && !slices.ContainsFunc(list[i+1:], same) {
			list = list[i : i+1]
		}
	}
	if err == nil && len(list) != 1 {
		err = &severalError{list: list}
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// notOne says to a planner that nothing was done, because nobody knows to what.
func notOne(person string, err error) tools.Result {
	several, ok := errors.AsType[*severalError](err)
	switch {
	case !ok:
		return unavailable(err)
	case several.unnamed:
		return tools.Result{End: tools.EndRefused, Code: "several", Output: "Which one? Say its words, or its number."}
	case len(several.list) == 0:
		return tools.Result{End: tools.EndRefused, Code: "not_found", Output: "I remember nothing like that."}
	}
	said := "Which one?"
	for _, e := range several.list[:min(len(several.list), 10)] {
		said += "\n" + line(&e, person)
	}
	return tools.Result{End: tools.EndRefused, Code: "several", Output: said, Taint: taintOf(person, several.list...)}
}

// made makes a change for a tool and says what became of it.
func (s *Service) made(ctx context.Context, call *tools.Call, change *Change, err error) tools.Result {
	if err == nil {
		err = s.Change(ctx, change, core.Actor{Person: call.Session.Person, Rule: audit.RulePeople, Turn: call.Session.Turn})
	}
	said, isState := errors.AsType[*core.StateError](err)
	switch {
	case change != nil && change.Refusal != nil && isState:
		return refused(change.Refusal)
	case errors.Is(err, core.ErrNotFound):
		return notOne("", &severalError{})
	case isState:
		return refused(&Refusal{Text: said.Sentence})
	case err != nil:
		return unavailable(err)
	}
	return tools.Result{End: tools.EndOK, Output: Became(change), Taint: taintOf(call.Session.Person, change.told()...)}
}

func refused(why *Refusal) tools.Result {
	return tools.Result{End: tools.EndRefused, Code: "refused", Rule: why.Rule, Output: why.Text}
}

func unavailable(err error) tools.Result {
	return tools.Result{End: tools.EndError, Code: "unavailable", Output: "what is remembered cannot be read or changed now: " + err.Error(), Hint: "look before doing it again, or tell the person"}
}
