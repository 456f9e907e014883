package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/money"
)

const (
	embedEvery = time.Minute      // between looks for texts without a vector, unless it is woken before
	embedAgain = 10 * time.Minute // between looks through all of them
	embedLook  = 500              // texts that one look finds
	embedMost  = 64               // texts of one call
	faultsMost = 10               // people for whom it fails, before it is left for a while
	embedBytes = 2 << 10          // bytes of one text

	// askWait is how long a turn waits for the vector of its message, and askPause for how long it is not tried after it did not come.
	askWait, askPause = 1200 * time.Millisecond, time.Minute
	// makeWait bounds a call at rest.
	makeWait = 2 * time.Minute
)

// RoleEmbeddings is in whose name vectors are made.
const RoleEmbeddings = "embeddings"

// A VectorStore has the vectors of what can be found. Implemented by store.
type VectorStore interface {
	// Unembedded lists what has no vector of the model behind a row, by its number: not of private sessions, nor of people who want nothing
	// learned or recalled. Its texts may be empty.
	Unembedded(ctx context.Context, model string, after int64, limit int) ([]memory.Hit, error)
	// LeaseVectors takes the lease on the making of vectors; false: another engine is at it.
	LeaseVectors(ctx context.Context, owner int64) (fence int64, ok bool, err error)
	// FreeVectors gives it back.
	FreeVectors(ctx context.Context, fence int64) error
	// WriteVectors writes the vectors of what Unembedded listed, an empty one of what the model does not take, in place of former ones,
	// but of what has changed since. core.ErrFenced.
	WriteVectors(ctx context.Context, fence int64, model string, of []memory.Hit, vectors [][]float32) error
	// HasVectors says that the model made vectors in the scopes of a query, and that who asks wants things learned and recalled.
	HasVectors(ctx context.Context, model string, q *memory.Query) (bool, error)
	// Nearest is what may be seen of what is nearer than floor to a vector, the nearest first.
	Nearest(ctx context.Context, model string, q *memory.Query, to []float32, floor float64) ([]memory.Hit, error)
}

// An Embedder has a model make vectors of what can be found, by which what means the same is found too: [embeddings]. Without a model it asks
// nobody anything.
type Embedder struct {
	Vectors VectorStore
	Owner   int64
	// Model is what [embeddings] names, and which PROVIDER/NAME that is; empty: none.
	Model func() (name, is string)
	// Ask asks a model for a person, who pays for it.
	Ask  func(ctx context.Context, person, model string, req llm.Request) (llm.Response, error)
	Hide func(text string) string // takes secrets out
	Now  func() time.Time
	Log  *slog.Logger

	soon chan struct{}

	mu        sync.Mutex
	away      time.Time   // until when no message is embedded
	of        string      // the model of
	unrelated [][]float32 // the vectors of memory.Unrelated
}

// NewEmbedder completes one; it makes vectors of nothing before Run.
func NewEmbedder(e *Embedder) *Embedder {
	e.soon = make(chan struct{}, 1)
	return e
}

// Wake has it look at once: something new can be found, or the settings are other ones.
func (e *Embedder) Wake() { retry.Signal(e.soon) }

// Run makes vectors of what has none until ctx ends.
func (e *Embedder) Run(ctx context.Context) {
	var through passage
	var again time.Time
	tries := 0
	for {
		if name, is := e.Model(); name != "" && (is != through.model || !e.Now().Before(again)) {
			if is != through.model || e.Now().Sub(through.began) > embedAgain {
				through = passage{model: is, began: e.Now()}
			}
			if err := e.all(ctx, name, &through); err != nil && ctx.Err() == nil {
				pause := retry.Pause(tries, firstPause, longest)
				again, through.after, tries = e.Now().Add(pause), 0, tries+1
				e.Log.WarnContext(ctx, "cannot make vectors of what is remembered; it is found by its words", "model", is, "tries", tries, "again_in", pause, "error", err)
			} else {
				tries = 0
			}
		}
		if !retry.Await(ctx, e.soon, embedEvery) {
			return
		}
	}
}

// A passage goes through what can be found, by its number.
type passage struct {
	model     string
	began     time.Time
	after     int64
	dimension int // of the vectors that were made last; 0: none was
}

// all makes the vectors of what has none, under the lease.
func (e *Embedder) all(ctx context.Context, name string, through *passage) (err error) {
	defer caught(&err)
	list, err := e.Vectors.Unembedded(ctx, through.model, through.after, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	fence, ok, err := e.Vectors.LeaseVectors(ctx, e.Owner)
	if err != nil || !ok {
		return err
	}
	defer func() {
		freeing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := e.Vectors.FreeVectors(freeing, fence); err != nil {
			e.Log.WarnContext(ctx, "a lease was not given back", "error", err)
		}
	}()
	var fault error // of the last person for whom it failed
	faults := 0
	for {
		list, err := e.Vectors.Unembedded(ctx, through.model, through.after, embedLook)
		if err != nil || len(list) == 0 {
			return errors.Join(fault, err)
		}
		after, dimension := list[len(list)-1].ID, through.dimension
		list = slices.DeleteFunc(list, func(h memory.Hit) bool { return h.Text == "" })
		for _, theirs := range memory.ByPerson(list, func(h memory.Hit) string { return h.Person }) {
			for some := range slices.Chunk(theirs, embedMost) {
				if err := e.write(ctx, name, through, fence, some); errors.Is(err, core.ErrFenced) {
					return nil // another engine is at it
				} else if err != nil && (llm.Away(err) || ctx.Err() != nil) {
					return err
				} else if overLimit(err) == money.SpentByPerson {
					break // they may pay tomorrow, and the others do today
				} else if err != nil {
					fault, faults = err, faults+1
					break
				}
			}
		}
		if through.after = after; through.dimension != dimension {
			through.after = 0 // those of another length do not count any more
		}
		if faults > faultsMost {
			return fault
		}
	}
}

// write makes vectors of texts of one person and writes them. A text that the model takes in no way has none.
func (e *Embedder) write(ctx context.Context, name string, through *passage, fence int64, of []memory.Hit) (err error) {
	defer caught(&err)
	model := through.model
	texts := make([]string, len(of))
	for i := range of {
		texts[i] = e.text(of[i].Text)
	}
	vectors, err := e.make(ctx, of[0].Person, name, model, makeWait, texts)
	switch {
	case err == nil:
		through.dimension = len(vectors[0])
		return e.Vectors.WriteVectors(ctx, fence, model, of, vectors)
	case !errors.Is(err, llm.ErrContextTooLong) && !errors.Is(err, llm.ErrRefused):
		return err
	case len(of) > 1:
		if err := e.write(ctx, name, through, fence, of[:len(of)/2]); err != nil {
			return err
		}
		return e.write(ctx, name, through, fence, of[len(of)/2:])
	}
	if _, other := e.make(ctx, of[0].Person, name, model, makeWait, memory.Unrelated[:1]); other != nil {
		return err // it is not the text
	}
	e.Log.WarnContext(ctx, "the model makes no vector of a text; it is found by its words", "model", model, "record", of[0].Record, "ref", of[0].Ref, "error", err)
	return e.Vectors.WriteVectors(ctx, fence, model, of, [][]float32{nil})
}

// text is what is sent of one.
func (e *Embedder) text(text string) string { return tools.Shorten(e.Hide(text), embedBytes, 0) }

func (e *Embedder) make(ctx context.Context, person, name, model string, wait time.Duration, texts []string) ([][]float32, error) {
	response, err := e.Ask(ctx, person, name, llm.Request{Role: RoleEmbeddings, Embed: texts, Timeout: wait})
	if is := response.Exchange.Provider + "/" + response.Exchange.Model; err == nil && is != model {
		err = fmt.Errorf("%s answered in place of %s: %w", is, model, core.ErrConflict)
	}
	return response.Vectors, err
}

// Over is a store whose Search finds by meaning too what a query wants found so.
func (e *Embedder) Over(s Store) Store { return byMeaning{s, e} }

type byMeaning struct {
	Store
	by *Embedder
}

// Search implements memory.Finds. While the model does not answer, or too slowly, words alone find something.
func (b byMeaning) Search(ctx context.Context, q memory.Query) (memory.Found, error) {
	name, is := "", ""
	if q.Meaning != "" {
		name, is = b.by.Model()
	}
	if name == "" || b.by.resting() {
		return b.Store.Search(ctx, q)
	}
	var near []memory.Hit
	var asking sync.WaitGroup
	asking.Go(func() {
		var err error
		near, err = b.by.near(ctx, name, is, &q)
		if err != nil && ctx.Err() == nil && overLimit(err) != money.SpentByPerson { // others may pay
			b.by.rest()
			b.by.Log.WarnContext(ctx, "recalling by words alone for a while", "model", is, "pause", askPause, "error", err)
		}
	})
	found, err := b.Store.Search(ctx, q)
	asking.Wait()
	for _, n := range near {
		if i := slices.IndexFunc(found.Hits, func(h memory.Hit) bool { return h.ID == n.ID }); i >= 0 {
			found.Hits[i].Alike = n.Alike
		} else {
			found.Hits = append(found.Hits, n)
		}
	}
	return found, err
}

// near is what is near to a query by its meaning.
func (e *Embedder) near(ctx context.Context, name, model string, q *memory.Query) (hits []memory.Hit, err error) {
	defer caught(&err)
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	if has, err := e.Vectors.HasVectors(ctx, model, q); err != nil || !has {
		return nil, err
	}
	text := e.text(q.Meaning)
	e.mu.Lock()
	unrelated := e.unrelated
	if e.of != model {
		unrelated = nil
	}
	e.mu.Unlock()
	var vectors [][]float32
	if unrelated != nil {
		vectors, err = e.make(ctx, q.For, name, model, askWait, []string{text})
	}
	if err == nil && (unrelated == nil || len(unrelated[0]) != len(vectors[0])) { // the first time, or the server makes others now
		if vectors, err = e.make(ctx, q.For, name, model, askWait, append([]string{text}, memory.Unrelated...)); err == nil {
			unrelated = vectors[1:]
			e.mu.Lock()
			e.of, e.unrelated = model, unrelated
			e.mu.Unlock()
		}
	}
	if err != nil {
		return nil, err
	}
	return e.Vectors.Nearest(ctx, model, q, vectors[0], memory.Floor(vectors[0], unrelated))
}

// resting says that no message is embedded for now.
func (e *Embedder) resting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Now().Before(e.away)
}

func (e *Embedder) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away = e.Now().Add(askPause)
}
