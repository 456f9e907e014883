package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/agent/memory"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/router/money"
	"switchboard/store"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// embeddings makes vectors as a fake of a server does.
type embeddings struct {
	mu        sync.Mutex
	model     string
	dimension int
	texts     []string // that it was sent, but for those of every start
	payers    map[string]bool
	refuse    string // a text with it is refused
	err       error
	broke     string // who may spend nothing more
}

func (e *embeddings) ask(_ context.Context, person, name string, req llm.Request) (llm.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	response := llm.Response{Exchange: llm.Exchange{Provider: "fake", Model: strings.TrimPrefix(name, "fake/")}}
	if e.err != nil {
		return response, e.err
	}
	if e.broke != "" && person == e.broke {
		return response, &money.OverLimitError{Spending: money.Spending{Scope: money.SpentByPerson}}
	}
	e.payers[person] = true
	for _, text := range req.Embed {
		if e.refuse != "" && strings.Contains(text, e.refuse) {
			return response, fmt.Errorf("%w: a word of it", llm.ErrRefused)
		}
		response.Vectors = append(response.Vectors, llmtest.Vector(name, text, e.dimension))
		if !slices.Contains(memory.Unrelated, text) {
			e.texts = append(e.texts, text)
		}
	}
	return response, nil
}

// sent is what it was sent, and forgets it.
func (e *embeddings) sent() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.texts = nil }()
	slices.Sort(e.texts)
	return strings.Join(e.texts, "|")
}

func (e *embeddings) set(change func(*embeddings)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

// embedding is a house in which an embedder works.
type embedding struct {
	*storetest.House
	*embeddings
	by *routermemory.Embedder
}

func newEmbedding(t testing.TB, db *store.DB) *embedding {
	e := &embedding{House: storetest.NewHouse(t, db), embeddings: &embeddings{model: "fake/one", dimension: llmtest.Dimension, payers: map[string]bool{}}}
	e.by = routermemory.NewEmbedder(&routermemory.Embedder{
		Vectors: db.Router(), Owner: e.Owner(), Ask: e.ask, Hide: func(text string) string { return text }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Model: func() (string, string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			return e.model, e.model
		},
	})
	return e
}

// all has vectors made of all that is to have one.
func (e *embedding) all() {
	e.Helper()
	e.allBut(0)
}

// allBut is all but of so many.
func (e *embedding) allBut(n int64) {
	e.Helper()
	ctx, stop := context.WithCancel(e.Ctx)
	var working sync.WaitGroup
	working.Go(func() { e.by.Run(ctx) })
	testkit.Await(e.TB, "all is embedded", 5*time.Minute, func() bool {
		made, all, err := e.DB.VectorProgress(ctx, e.model)
		if err != nil {
			e.Error(err)
		}
		return made == all-n
	})
	stop()
	working.Wait()
}

// finds is what is found for a message.
func (e *embedding) finds(text string, q memory.Query) string {
	e.Helper()
	q.Meaning = text
	hits, err := memory.Recall(e.Ctx, e.by.Over(e.DB.Router()), text, q, 800)
	if err != nil {
		e.Fatal(err)
	}
	var list []string
	for _, h := range hits {
		list = append(list, h.Text)
	}
	return strings.Join(list, "|")
}

const (
	carFact     = "The red automobile stays at aunt Ida's"
	carQuestion = "where is my vehicle?"
)

// What means the same is found where it may be seen, by other words, and nowhere else; what was never said is not.
func TestMeaningIsFoundInItsPlaces(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		bo := memory.OfPerson("bo")
		group := memory.OfGroup("tg", "ada")
		said(t, db,
			memory.Entry{Scope: ada, Person: "ada", Text: "A physician: Dr. Blum"},
			memory.Entry{Scope: bo, Person: "bo", Text: "A physician: Dr. Haller"},
			memory.Entry{Scope: group, Person: "bo", Text: "A physician: Dr. Lind"},
			memory.Entry{Scope: ada, Person: "ada", Text: "Physician from a page", Taint: "page"},
			memory.Entry{Scope: ada, Person: "ada", Text: "Physician archived", State: "archived"},
			memory.Entry{Scope: ada, Person: "ada", Text: "Physician of yesterday", ExpiresAt: time.Now().Add(-time.Minute)},
			memory.Entry{Scope: ada, Person: "ada", Text: "Physician unsure", Confidence: 0.2},
			memory.Entry{Scope: ada, Person: "ada", Text: "The harbour key hangs at the door"},
		)
		const question = "arzt?"
		q := memory.Query{Scopes: []memory.Scope{ada, memory.Global, memory.OfSession(7)}, MinConfidence: 0.5}
		if got := e.finds(question, q); got != "" || e.sent() != "" {
			t.Errorf("before there is a vector: %q, and a message was embedded", got)
		}
		e.all()
		e.sent()
		for _, tt := range []struct {
			q    memory.Query
			want string
		}{
			{q, "A physician: Dr. Blum"},
			{memory.Query{Scopes: []memory.Scope{bo, memory.Global}}, "A physician: Dr. Haller"},
			{memory.Query{Scopes: []memory.Scope{group, memory.Global}}, "A physician: Dr. Lind"},
			{memory.Query{Scopes: []memory.Scope{group, memory.Global}, By: "ada"}, ""},
			{memory.Query{Scopes: []memory.Scope{memory.Global, memory.OfPerson("eva")}}, ""},
		} {
			for range 2 { // the second time from the shelf
				if got := e.finds(question, tt.q); got != tt.want {
					t.Errorf("%v by %q: %q, want %q", tt.q.Scopes, tt.q.By, got, tt.want)
				}
			}
		}
		q.Tainted, q.Archived, q.MinConfidence = true, true, 0
		if got := e.finds(question, q); strings.Count(got, "hysician") != 4 || strings.Contains(got, "yesterday") {
			t.Errorf("by those who search: %q", got)
		}
		for _, never := range []string{"what is the wifi password?", "how tall is the tower of Pisa?", "?"} {
			if got := e.finds(never, q); got != "" {
				t.Errorf("%s: %q", never, got)
			}
		}
		if got := e.finds("the key of the arzt", q); !strings.Contains(got, "Dr. Blum") || !strings.Contains(got, "harbour key") {
			t.Errorf("words and meaning: %q", got)
		}
	})
}

// A vector is of one text in one scope: what is forgotten, moved or written anew has none, also where another row has its number now.
func TestVectorGoesWithItsText(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		q := in(ada)
		ids := said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: carFact})
		e.all()
		if got := e.finds(carQuestion, q); got != carFact {
			t.Fatalf("found %q", got)
		}
		write := func(do func(tx *database.Tx) error) {
			t.Helper()
			if err := db.Write(t.Context(), database.Async, "change", do); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *database.Tx) error { return stored.Unindex(tx, memory.OfMemory, ids...) })
		e.WantCount(0, "SELECT count(*) FROM vectors")
		said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: "The moon is round"}) // SQLite gives it the number of the other
		if got := e.finds(carQuestion, q); got != "" {
			t.Errorf("what is gone is found: %q", got)
		}
		e.all()
		if got := e.finds(carQuestion, q); got != "" {
			t.Errorf("by the vector of another: %q", got)
		}

		ids = said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: carFact})
		e.all()
		eva := memory.OfPerson("eva")
		write(func(tx *database.Tx) error { return stored.Move(tx, ada, eva) })
		e.WantCount(0, "SELECT count(*) FROM vectors")
		if got := e.finds(carQuestion, q); got != "" {
			t.Errorf("where it was: %q", got)
		}
		e.all()
		if got := e.finds(carQuestion, in(eva)); got != carFact {
			t.Errorf("where it is: %q", got)
		}
		write(func(tx *database.Tx) error {
			return stored.Index(tx, stored.Indexed{Record: memory.OfMemory, Ref: ids[0], Scope: eva, SaidAt: time.Now(), Text: "Snow fell"})
		})
		e.WantCount(1, "SELECT count(*) FROM vectors")

		// What changed while the model made a vector of it gets none.
		list, err := db.Router().Unembedded(t.Context(), e.model, 0, 10)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		fence, ok, err := db.Router().LeaseVectors(t.Context(), e.Owner())
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		write(func(tx *database.Tx) error {
			return stored.Index(tx, stored.Indexed{Record: memory.OfMemory, Ref: ids[0], Scope: eva, SaidAt: time.Now(), Text: "Rain fell"})
		})
		vectors := [][]float32{llmtest.Vector(e.model, "Snow fell", 8)}
		if err := db.Router().WriteVectors(t.Context(), fence, e.model, list, vectors); err != nil {
			t.Fatal(err)
		}
		e.WantCount(1, "SELECT count(*) FROM vectors")
		if err := db.Router().WriteVectors(t.Context(), fence-1, e.model, list, vectors); !errors.Is(err, core.ErrFenced) {
			t.Errorf("under an old lease: %v", err)
		}
	})
}

// Another model, or another length of its vectors, has all embedded once more, and no vector is compared with one of another. Nothing new,
// no call.
func TestOtherModelEmbedsAnew(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		var list []memory.Entry
		for i := range 150 {
			list = append(list, memory.Entry{Scope: ada, Person: "ada", Text: fmt.Sprintf("note%d says nothing", i)})
		}
		said(t, db, append(list, memory.Entry{Scope: ada, Person: "ada", Text: carFact})...)
		e.all()
		if n := strings.Count(e.sent(), "|") + 1; n != 151 || !e.payers["ada"] || len(e.payers) != 1 {
			t.Errorf("%d texts were sent, for %v", n, e.payers)
		}
		e.all()
		if sent := e.sent(); sent != "" {
			t.Errorf("with nothing new: %s", sent)
		}
		e.set(func(s *embeddings) { s.model = "fake/two" })
		if got := e.finds(carQuestion, in(ada)); got != "" {
			t.Errorf("by vectors of another model: %q", got)
		}
		if made, all, err := db.VectorProgress(t.Context(), "fake/two"); made != 0 || all != 151 || err != nil {
			t.Errorf("%d of %d, %v", made, all, err)
		}
		e.all()
		e.WantCount(151, "SELECT count(*) FROM vectors WHERE model = 'fake/two'")
		e.WantCount(151, "SELECT count(*) FROM vectors")
		if got := e.finds(carQuestion, in(ada)); got != carFact {
			t.Errorf("by the new ones: %q", got)
		}
		e.sent()

		e.set(func(s *embeddings) { s.dimension = 512 })
		said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: "something new"})
		e.all()
		e.WantCount(152, "SELECT count(*) FROM vectors WHERE dimension = 512")
		if got := e.finds(carQuestion, in(ada)); got != carFact {
			t.Errorf("of the new length: %q", got)
		}
	})
}

// Of private sessions and of people who want nothing learned or nothing recalled nothing is sent, nor what they ask.
func TestUnwillingAreNotEmbedded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		group := memory.OfGroup("tg", "g")
		said(t, db,
			memory.Entry{Scope: ada, Person: "ada", Text: carFact},
			memory.Entry{Scope: memory.OfPerson("bo"), Person: "bo", Text: carFact + " bo"},
			memory.Entry{Scope: memory.OfPerson("eva"), Person: "eva", Text: carFact + " eva"},
			memory.Entry{Scope: memory.OfPerson("eva"), Text: carFact + " unsaid"},
			memory.Entry{Scope: group, Person: "eva", Text: carFact + " eva"},
			memory.Entry{Scope: group, Person: "ada", Text: "In the group"},
		)
		storetest.Exec(t, db, `INSERT INTO memory_settings (person, learning, recall, updated_at) VALUES ('bo', FALSE, TRUE, 1), ('eva', TRUE, FALSE, 1)`)
		e.Accept(storetest.Entry("c", "k", "hi"))
		storetest.Exec(t, db, `UPDATE sessions SET private = 'on'`)
		storetest.Exec(t, db, `INSERT INTO recalled (kind, ref, scope, session_id, said_at, mark, words) SELECT 'message', m.id, 'person:ada', s.id, 1, 'x', 'x' FROM sessions s, messages m`)
		e.all()
		if sent := e.sent(); sent != "In the group|"+carFact {
			t.Errorf("sent: %s", sent)
		}
		storetest.Exec(t, db, `UPDATE memory_settings SET learning = TRUE, recall = TRUE`)
		e.all()
		storetest.Exec(t, db, `UPDATE memory_settings SET learning = FALSE`)
		e.sent()
		for _, q := range []memory.Query{{Scopes: []memory.Scope{memory.OfPerson("bo")}, For: "bo"}, {Scopes: []memory.Scope{group}, By: "eva", For: "eva"}} {
			_ = e.finds(carQuestion, q)
		}
		if sent := e.sent(); sent != "" {
			t.Errorf("what they ask was sent: %s", sent)
		}
	})
}

// A text that the model refuses stops no other, and is tried once. While the model is away words find what they do, and it is not asked
// with each message.
func TestEmbeddingsThatFail(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		e.refuse = "poison"
		for i := range 20 {
			said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: fmt.Sprintf("note%d says nothing", i)})
		}
		said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: "a poison ring"}, memory.Entry{Scope: ada, Person: "ada", Text: carFact})
		e.all()
		e.WantCount(1, "SELECT count(*) FROM vectors WHERE dimension = 0")
		e.sent()
		e.all()
		if sent := e.sent(); sent != "" {
			t.Errorf("tried again: %s", sent)
		}
		if got := e.finds(carQuestion, in(ada)); got != carFact {
			t.Errorf("found %q", got)
		}
		e.set(func(s *embeddings) { s.err = llm.ErrAway })
		if got := e.finds("the poison ring", in(ada)); got != "a poison ring" {
			t.Errorf("by words: %q", got)
		}
		e.set(func(s *embeddings) { s.err = nil })
		e.sent()
		if got := e.finds(carQuestion, in(ada)); strings.Contains(got, "|") || e.sent() != "" {
			t.Errorf("asked again at once, %q", got)
		}
	})
}

// A person who may spend nothing more recalls by words; all others go on.
func TestWhoMaySpendNothingStopsNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		bo := memory.OfPerson("bo")
		said(t, db, memory.Entry{Scope: bo, Person: "bo", Text: carFact})
		e.all()
		e.set(func(e *embeddings) { e.broke = "bo" })
		var list []memory.Entry
		for i := range 20 {
			list = append(list, memory.Entry{Scope: bo, Person: "bo", Text: fmt.Sprint("note ", i)})
		}
		said(t, db, append(list, memory.Entry{Scope: ada, Person: "ada", Text: carFact})...)
		e.allBut(int64(len(list)))
		if got := e.finds(carQuestion, memory.Query{Scopes: []memory.Scope{bo}, For: "bo"}); got != "" {
			t.Errorf("bo finds %q", got)
		}
		if got := e.finds(carQuestion, in(ada)); got != carFact {
			t.Errorf("ada finds %q", got)
		}
		e.set(func(e *embeddings) { e.broke = "" })
		e.all()
	})
}

// Who asks for memories alone finds no messages by their meaning, and who asks for what was said no memories.
func TestMeaningKeepsToWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEmbedding(t, db)
		e.Begun("c1", "The red automobile is mine")
		e.Exec(`UPDATE messages SET text = 'The red automobile is mine'`)
		said(t, db, memory.Entry{Scope: ada, Person: "ada", Text: carFact})
		if err := db.Write(e.Ctx, database.Async, "index", func(tx *database.Tx) error {
			var message int64
			if _, err := tx.Row(`SELECT max(id) FROM messages`, nil, &message); err != nil {
				return err
			}
			return stored.Index(tx, stored.Indexed{Record: memory.OfMessage, Ref: message, Scope: ada, SaidAt: time.Now(), Text: "The red automobile is mine"})
		}); err != nil {
			t.Fatal(err)
		}
		e.all()
		q := in(ada)
		if got := e.finds(carQuestion, q); strings.Count(got, "automobile") != 2 {
			t.Errorf("of all: %q", got)
		}
		q.Memories, q.For = true, "bo"
		e.set(func(e *embeddings) { e.payers = map[string]bool{} })
		if got := e.finds(carQuestion, q); got != carFact || !e.payers["bo"] || len(e.payers) != 1 {
			t.Errorf("of memories: %q, for %v", got, e.payers)
		}
		q.Memories, q.Said = false, true
		if got := e.finds(carQuestion, q); got != "The red automobile is mine" {
			t.Errorf("of what was said: %q", got)
		}
	})
}
