package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// A Record says what something that can be found is.
type Record string

// The records.
const (
	OfMemory  Record = "memory"
	OfMessage Record = "message" // what a person wrote
	OfSummary Record = "summary" // of a session
	OfResult  Record = "result"  // what a tool brought
)

// A Query says what is looked for, and where.
type Query struct {
	Terms         []Term
	Scopes        []Scope
	Memories      bool    // memories alone
	Said          bool    // what was said and found alone
	Kinds         []Kind  // of memories; nil: all
	MinConfidence float64 // of memories
	Tainted       bool    // tainted ones too
	Archived      bool    // archived memories too
	Loose         bool    // also what has one very common word alone
	By            string  // of what is not global what this person said alone; empty: anybody
	For           string  // who asks, and pays; empty: nobody we know
	// Meaning has what means the same as this text found too, where vectors are made; empty: by words alone.
	Meaning string
	// Session and Since leave out the summary of that session, and its messages from that one on, which a prompt has anyway; zero: none.
	Session, Since int64
}

// Found is what a query found, in no order.
type Found struct {
	Hits   []Hit
	Counts []int // in how many memories each term stands, MaxCount at most
	Said   []int // and in how much of all else
}

// MaxCount is in how many places of its scopes a term stands at least that is very common there.
const MaxCount = 33

// A Hit is something that was found.
type Hit struct {
	ID         int64 // of what can be found
	Record     Record
	Ref        int64 // the memory, message or session; of a result the turn
	Kind       Kind  // of a memory
	Scope      Scope
	Session    string // its key; empty: it is of none
	Person     string // who said it; empty: nobody we know
	Text       string // the beginning of a long one
	Confidence float64
	Taint      tools.Taint
	SaidAt     time.Time
	Words      string  // as Words makes them
	Alike      float64 // of 1, how far its meaning is on the way from Floor to the query's; 0: it was not found by its meaning
}

// Finds is a store of what can be found.
type Finds interface {
	// Search finds what has a term of the query and may be seen in its scopes. Where there is no term or no scope, it asks nothing.
	Search(ctx context.Context, q Query) (Found, error)
}

// hitTokens bounds one text, so that a long one leaves room for others.
const hitTokens = 200

// Recall is what text has to do with, as much as fits into the budget of tokens, each cut to what it takes in a prompt. First come
// memories, the nearest first, which may take three quarters of the budget; then what was said and found, so that neither pushes the
// other out. The query's terms are the text's.
func Recall(ctx context.Context, in Finds, text string, q Query, budget int) (list []Hit, err error) {
	q.Terms = Terms(text)
	found, err := in.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	room := budget * 3 / 4
	if q.Memories {
		room = budget
	}
	left := budget - room
	var memories, said Found
	memories.Counts, said.Counts = found.Counts, found.Said
	for _, h := range found.Hits {
		if h.Record == OfMemory {
			memories.Hits = append(memories.Hits, h)
		} else {
			said.Hits = append(said.Hits, h)
		}
	}
	for _, part := range []Found{memories, said} {
		for _, h := range Rank(q, part) {
			h.Text = cut(h.Text, q.Terms, hitTokens)
			tokens := llm.Tokens(h.Line(time.UTC))
			if tokens > room {
				break
			}
			room -= tokens
			list = append(list, h)
		}
		room, left = room+left, 0
	}
	return list, nil
}

// TaintFor is the taint of the hit in what is done for a person: what others said taints.
func (h *Hit) TaintFor(person string) tools.Taint {
	return h.Taint.JoinIf(h.Scope.others(h.Person, person), tools.Others)
}

// Line is the hit in a prompt: date, source and text.
func (h *Hit) Line(zone *time.Location) string {
	what := string(h.Record)
	if h.Record == OfMemory {
		what = string(h.Kind)
	}
	if h.Person != "" {
		what += " of " + h.Person
	}
	return fmt.Sprintf("%s, %s: %s", h.SaidAt.In(zone).Format(time.DateOnly), what, strings.Join(strings.Fields(h.Text), " "))
}

// cut is the part of a text around the first of the terms in it that has so many tokens at most.
func cut(text string, terms []Term, tokens int) string {
	if llm.Tokens(text) <= tokens {
		return text
	}
	words := strings.Fields(text)
	first := 0
	for i, word := range words {
		if found := " " + Words(word) + " "; slices.ContainsFunc(terms, func(t Term) bool { return t.in(found) }) {
			first = max(0, i-10)
			break
		}
	}
	text = strings.Join(words[first:], " ")
	for n := len(text); llm.Tokens(text) > tokens-2; { // cut by bytes, which bound tokens from above
		n = n * 9 / 10
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if first > 0 {
		text = "… " + text
	}
	return text + " …"
}
