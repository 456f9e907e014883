package memory

import (
	"cmp"
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/decision"
)

// A Service does what people and turns want of memory. Its methods may be called from several goroutines at once.
type Service struct {
	Store  Store
	Change Changer
	Person func(name string) *core.Person // nil: nobody is called so
	// Called is the name, as it is written, of who is called so in any case of letters, or is away; empty: nobody is.
	Called func(ctx context.Context, name string) (string, error)
	Hide   func(text string) string // takes secrets out
	Policy *decision.Service        // asked before something is written; nil: nothing is
	// Settings are [memory] as they are now; Proposes says that models may propose rules.
	Settings func() memory.Config
	Proposes func() bool
	Now      func() time.Time
	Log      *slog.Logger

	mu   sync.Mutex
	used map[int64]time.Time // when it was noted that a memory was used
}

// usedEvery is how often at most it is noted that a memory was used.
const usedEvery = 24 * time.Hour

// Recall implements agent.Memory.
func (s *Service) Recall(ctx context.Context, at memory.Place, said string) (memory.Known, error) {
	cfg := s.Settings()
	known, recalls, err := s.Store.StandingMemories(ctx, at, cfg.MinConfidence)
	if err != nil {
		return memory.Known{}, err
	}
	room := 0
	if known.Standing, room = fits(known.Standing, cfg.RecallTokens); recalls && room > 0 {
		q := memory.Query{Scopes: at.Scopes(), Kinds: []memory.Kind{memory.Fact}, MinConfidence: cfg.MinConfidence, Session: at.Session, Since: at.Since, Meaning: said, For: at.Person}
		if !at.Direct { // what others said is found by those who search for it
			q.By = at.Person
		}
		if q.By == "" && !at.Direct {
			q.Scopes = []memory.Scope{memory.Global}
		}
		known.Found, err = memory.Recall(ctx, s.Store, said, q, room)
	}
	s.note(ctx, &known)
	return known, err
}

// note writes that what is known was used. That it cannot is no reason to answer without.
func (s *Service) note(ctx context.Context, known *memory.Known) {
	ids := idsOf(known.Standing)
	for _, h := range known.Found {
		if h.Record == memory.OfMemory {
			ids = append(ids, h.Ref)
		}
	}
	now := s.Now()
	s.mu.Lock()
	if s.used == nil || len(s.used) > 10_000 {
		s.used = map[int64]time.Time{}
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return now.Sub(s.used[id]) < usedEvery })
	for _, id := range ids {
		s.used[id] = now
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	if err := s.Store.MemoriesUsed(ctx, ids); err != nil {
		s.Log.WarnContext(ctx, "the use of memories could not be noted", "error", err)
	}
}

// fits are the rules of every prompt, and as many of the others as have room, the newest first; left is the room behind them.
func fits(standing []memory.Entry, room int) (fit []memory.Entry, left int) {
	for _, e := range slices.Backward(standing) {
		tokens := llm.Tokens(e.Text)
		switch {
		case e.Always:
		case tokens > room:
			continue
		default:
			room -= tokens
		}
		fit = append(fit, e)
	}
	slices.Reverse(fit)
	return fit, room
}

// kindNames are the kinds of memories as people write them, in five languages.
var kindNames = map[memory.Kind]string{
	memory.Fact:       "fact facts fakten hechos faits fatti",
	memory.Preference: "preference preferences vorlieben preferencias préférences preferenze",
	memory.Rule:       "rule rules regeln reglas règles regole",
	memory.Question:   "question questions fragen preguntas domande",
}

// kindOf is the kind that a word names; empty: none.
func kindOf(word string) memory.Kind {
	for kind, names := range kindNames {
		if slices.Contains(strings.Fields(names), strings.ToLower(word)) {
			return kind
		}
	}
	return ""
}

// numberOf is the number of a memory as people write it.
func numberOf(which string) (id int64, is bool) {
	id, err := strconv.ParseInt(strings.TrimPrefix(which, "#"), 10, 64)
	return id, err == nil
}

// foundMost bounds what words or a kind mean at once.
const foundMost = 1000

// find lists what is meant by a number, a kind, or words that all stand in it, of what somebody may change, the newest first; foundMost
// of them at most.
func (s *Service) find(ctx context.Context, w *Writer, which string) (list []memory.Entry, err error) {
	f := Filter{Scopes: s.mayChange(w), Person: onlyOf(w), All: true}
	which = strings.TrimSpace(which)
	if id, is := numberOf(which); is {
		f.IDs = []int64{id}
		list, err := s.Store.Memories(ctx, f)
		return w.without(list), err
	}
	kind := kindOf(which)
	if kind != "" {
		f.Kinds = []memory.Kind{kind}
	} else if f.Scopes == nil {
		return nil, nil
	}
	all, err := s.all(ctx, f)
	for _, e := range w.without(all) {
		if kind != "" || memory.HasWords(e.Named(), which) {
			list = append(list, e)
		}
	}
	return list[:min(len(list), foundMost)], err
}

// all lists what fits a filter, however much that is.
func (s *Service) all(ctx context.Context, f Filter) (list []memory.Entry, err error) {
	for f.Limit = 5000; ; f.Before = list[len(list)-1].ID {
		some, err := s.Store.Memories(ctx, f)
		if list = append(list, some...); err != nil || len(some) < f.Limit {
			return list, err
		}
	}
}

// named lists memories of some scopes by their words and by what they mean, the best first; tainted and archived ones too.
func (s *Service) named(ctx context.Context, w *Writer, scopes []memory.Scope, words string) ([]memory.Entry, error) {
	const room = 100_000 // tokens
	hits, err := memory.Recall(ctx, s.Store, words, memory.Query{Scopes: scopes, Memories: true, Tainted: true, Archived: true, Loose: true, Meaning: words, For: w.Person}, room)
	ids := []int64{}
	for _, h := range hits {
		ids = append(ids, h.Ref)
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := s.Store.Memories(ctx, Filter{IDs: ids, Scopes: scopes, All: true})
	slices.SortFunc(list, func(a, b memory.Entry) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	return list, err
}

// without leaves out what was learned of others and is not judged yet.
func (w *Writer) without(list []memory.Entry) []memory.Entry {
	return slices.DeleteFunc(list, func(e memory.Entry) bool { return e.Kind == memory.Learning && e.Person != w.Person })
}

// spokenOf is the memory that our last message in the chat of a call speaks of, of what the person may change: it says its text, or it was
// kept in that turn; not sure: its words stand in a sentence. nil: it speaks of none, or of several.
func (s *Service) spokenOf(ctx context.Context, w *Writer, call *tools.Call) (e *memory.Entry, sure bool, err error) {
	text, turn, err := s.Store.LastAnswer(ctx, call.Session.ID, call.Session.Turn)
	if err != nil || text == "" || strings.HasPrefix(text, "Forgotten: ") {
		return nil, false, err
	}
	list, err := s.all(ctx, Filter{Scopes: w.Place.Scopes()})
	if err != nil {
		return nil, false, err
	}
	said := statements(text)
	var sentences []string
	for _, sentence := range memory.Sentences(text) {
		sentences = append(sentences, memory.Words(sentence))
	}
	for i, is := range []func(e *memory.Entry) bool{
		func(e *memory.Entry) bool { return said[plain(e.Named())] },
		func(e *memory.Entry) bool { return turn > 0 && e.Turn == turn && e.Source == Said },
		func(e *memory.Entry) bool {
			terms := memory.Terms(e.Text)
			return len(terms) > 1 && slices.ContainsFunc(sentences, func(words string) bool { return memory.HasAll(words, terms) })
		},
	} {
		for n := range list {
			switch one := &list[n]; {
			case !is(one):
			case e == nil || plain(e.Named()) == plain(one.Named()) && e.Person != w.Person: // others may have said the same
				e = one
			case plain(e.Named()) != plain(one.Named()):
				return nil, false, nil
			}
		}
		if e != nil {
			list, err = s.Store.Memories(ctx, Filter{IDs: []int64{e.ID}, Scopes: s.mayChange(w), Person: onlyOf(w)})
			if err != nil || len(list) == 0 {
				return nil, false, err
			}
			return &list[0], i < 2, nil
		}
	}
	return nil, false, nil
}

// numbered is a memory in a list, with what stands behind it.
var numbered = regexp.MustCompile(`^- \d+[.:] (.*) \((?:[^()]|\([^()]*\))*\)$`)

// statements are what a message of ours may say that is remembered, as plain has it: a line, what a list has in it, what stands behind a
// colon, and all of that to the end, without buttons.
func statements(text string) map[string]bool {
	all := map[string]bool{}
	for whole := range strings.SplitSeq(text, "\n\n") {
		for _, part := range append(strings.Split(whole, "\n"), whole, text) {
			if m := numbered.FindStringSubmatch(part); m != nil {
				part = m[1]
			}
			for more := true; more; _, part, more = strings.Cut(part, ": ") {
				all[plain(part)] = true
			}
		}
	}
	delete(all, plain(""))
	return all
}

// plain is a text in lower case without anything but its words, each with spaces around it.
func plain(text string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }), " ") + " "
}

// at is where somebody speaks in a conversation, who they are there, and with what right.
func (s *Service) at(ctx context.Context, conv channels.Conversation, person string, admin bool) (*Writer, error) {
	place, err := s.Store.MemoryPlace(ctx, conv, person)
	return &Writer{Person: person, Admin: admin, Place: place}, err
}
