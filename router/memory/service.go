package memory

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
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

// find lists what is meant by a number, a kind, or words that all stand in it, of what somebody may change.
func (s *Service) find(ctx context.Context, w *Writer, which string) ([]memory.Entry, error) {
	f := Filter{Scopes: s.mayChange(w), Person: onlyOf(w), All: true}
	which = strings.TrimSpace(which)
	if id, is := numberOf(which); is {
		f.IDs = []int64{id}
		list, err := s.Store.Memories(ctx, f)
		return w.without(list), err
	}
	if kind := kindOf(which); kind != "" {
		f.Kinds = []memory.Kind{kind}
		return s.Store.Memories(ctx, f)
	}
	if f.Scopes == nil {
		return nil, nil
	}
	var list []memory.Entry
	var err error
	silent := memory.Terms(which) == nil
	if silent { // such words are not looked for: they mean a memory that has no others, as "he is out"
		list, err = s.Store.Memories(ctx, f)
	} else {
		list, err = s.named(ctx, w, f.Scopes, which, "")
	}
	return slices.DeleteFunc(w.without(list), func(e memory.Entry) bool {
		text := e.Key + " " + e.Text
		return f.Person != "" && e.Person != f.Person || silent && memory.Terms(text) != nil || !memory.HasWords(text, which)
	}), err
}

// named lists memories of some scopes by their words, and by a meaning if there is one, the best first; tainted and archived ones too.
func (s *Service) named(ctx context.Context, w *Writer, scopes []memory.Scope, words, meaning string) ([]memory.Entry, error) {
	const room = 100_000 // tokens
	hits, err := memory.Recall(ctx, s.Store, words, memory.Query{Scopes: scopes, Memories: true, Tainted: true, Archived: true, Loose: true, Meaning: meaning, For: w.Person}, room)
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

// latest is what somebody had remembered last of what they may change, in the session, and not what was learned unasked; nil: nothing.
func (s *Service) latest(ctx context.Context, w *Writer, session string) (*memory.Entry, error) {
	list, err := s.Store.Memories(ctx, Filter{Scopes: s.mayChange(w), Person: w.Person})
	if i := slices.IndexFunc(list, func(e memory.Entry) bool {
		return e.Session == session && slices.Contains([]string{Said, Command, Answer}, e.Source)
	}); i >= 0 {
		return &list[i], err
	}
	return nil, err
}

// at is where somebody speaks in a conversation, who they are there, and with what right.
func (s *Service) at(ctx context.Context, conv channels.Conversation, person string, admin bool) (*Writer, error) {
	place, err := s.Store.MemoryPlace(ctx, conv, person)
	return &Writer{Person: person, Admin: admin, Place: place}, err
}
