package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"switchboard/agent/memory"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	"switchboard/store/engines"
)

var _ routermemory.VectorStore = (*Store)(nil)

const (
	// vectorsLease is the name of the lease on the making of vectors; nobody is called so.
	vectorsLease = "[embeddings]"
	// nearMost is how much is found by its meaning, nearChunk how many are looked up at once.
	nearMost, nearChunk = 12, 64
)

const (
	// unwilling is whose words are not embedded: they want nothing learned, or nothing recalled.
	unwilling = `SELECT 1 FROM memory_settings o WHERE (o.learning = FALSE OR o.recall = FALSE) AND `
	// embeds are rows r of what is to be embedded.
	embeds = `NOT EXISTS (` + unwilling + `(r.scope = 'person:' || o.person OR o.person = ` + sayer + `))
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id AND s.private <> '')`
	// vectorOf says of a row r that the model made its vector.
	vectorOf = `EXISTS (SELECT 1 FROM vectors v WHERE v.recalled_id = r.id AND v.model = ? AND (v.dimension IN (0, ?) OR CAST(? AS bigint) = 0))`

	unembedded   = loaded + `(SELECT r.id FROM recalled r WHERE r.id > ? AND NOT ` + vectorOf + ` AND ` + embeds + ` ORDER BY r.id LIMIT ?) ORDER BY r.id`
	newestVector = `SELECT model, dimension FROM vectors ORDER BY id DESC LIMIT 1`
	vectorsMade  = `SELECT count(*) AS "all", coalesce(sum(CASE WHEN ` + vectorOf + ` THEN 1 ELSE 0 END), 0) AS made FROM recalled r WHERE ` + embeds
	// asEmbedded is a row whose text is still what a vector was made of.
	asEmbedded   = `SELECT scope FROM recalled WHERE id = ? AND words = ?`
	dropVector   = `DELETE FROM vectors WHERE recalled_id = ?`
	insertVector = `INSERT INTO vectors (recalled_id, scope, model, dimension, vector) VALUES (?, ?, ?, ?, ?)`
	hasVectors   = `SELECT 1 FROM vectors WHERE model = ? AND dimension > 0 AND scope IN (%s) AND NOT EXISTS (` + unwilling + `o.person = ?) LIMIT 1`
	// seenOfVectors: the CROSS JOIN has SQLite begin with the vectors.
	seenOfVectors = `SELECT v.id, r.id AS row FROM vectors v CROSS JOIN recalled r WHERE r.id = v.recalled_id AND v.id IN (%s) AND `
)

// LeaseVectors implements routermemory.VectorStore.
func (s *Store) LeaseVectors(ctx context.Context, owner int64) (fence int64, ok bool, err error) {
	err = s.Write(ctx, s.ForLeases(), "lease the making of vectors", func(t *database.Tx) error {
		fence, ok, err = engines.Take(t, engines.Memory, vectorsLease, owner)
		return err
	})
	return fence, ok, err
}

// FreeVectors implements routermemory.VectorStore.
func (s *Store) FreeVectors(ctx context.Context, fence int64) error {
	return s.FreeRest(ctx, &routermemory.Resting{Person: vectorsLease, Fence: fence})
}

// dimension is that of the newest vector, if it is of the model; 0: it is not known.
func dimension(t *database.Tx, model string) (n int64, err error) {
	var newest string
	if _, err = t.Row(newestVector, nil, &newest, &n); newest != model {
		n = 0
	}
	return n, err
}

// Unembedded implements routermemory.VectorStore.
func (s *Store) Unembedded(ctx context.Context, model string, after int64, limit int) ([]memory.Hit, error) {
	return database.Read(ctx, s.DB, "look for texts without a vector", func(t *database.Tx) ([]memory.Hit, error) {
		n, err := dimension(t, model)
		if err != nil {
			return nil, err
		}
		return database.Select[memory.Hit](t, unembedded, after, model, n, n, limit)
	})
}

// WriteVectors implements routermemory.VectorStore.
func (s *Store) WriteVectors(ctx context.Context, fence int64, model string, of []memory.Hit, vectors [][]float32) error {
	return s.under(ctx, "write vectors", &routermemory.Resting{Person: vectorsLease, Fence: fence}, func(t *database.Tx) error {
		for i, h := range of {
			var scope memory.Scope
			if is, err := t.Row(t.Locked(asEmbedded), []any{h.ID, h.Words}, &scope); err != nil {
				return err
			} else if !is {
				continue
			}
			if err := t.Run(
				database.Do(dropVector, h.ID),
				database.Do(insertVector, h.ID, scope, model, len(vectors[i]), memory.Pack(vectors[i])),
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// VectorProgress is of how many texts the model made vectors, and how many there are; doctor asks for it.
func (s *Store) VectorProgress(ctx context.Context, model string) (made, all int64, err error) {
	err = s.Read(ctx, "count vectors", func(t *database.Tx) error {
		n, err := dimension(t, model)
		if err == nil {
			_, err = t.Row(vectorsMade, []any{model, n, n}, &all, &made)
		}
		return err
	})
	return made, all, err
}

// HasVectors implements routermemory.VectorStore.
func (s *Store) HasVectors(ctx context.Context, model string, q *memory.Query) (has bool, err error) {
	marks, args := database.In(q.Scopes)
	return s.ReadRow(ctx, "look for vectors", strings.Replace(hasVectors, "%s", marks, 1), append(append([]any{model}, args...), database.Clean(q.For)))
}

// Nearest implements routermemory.VectorStore. All that is near enough is looked up, the nearest first, until there is enough that may be
// seen: it is the same as if that had been asked first.
func (s *Store) Nearest(ctx context.Context, model string, q *memory.Query, to []float32, floor float64) (hits []memory.Hit, err error) {
	type near struct {
		id    int64
		alike float64
	}
	question := memory.Pack(to)
	err = s.Read(ctx, "recall by meaning", func(t *database.Tx) error {
		var list []near
		for _, scope := range q.Scopes {
			pages, err := s.shelves.pages(t, shelfOf{scope, model, len(to)})
			if err != nil {
				return err
			}
			for _, page := range pages {
				for i := range page {
					if alike := (memory.Alike(page[i].Vector, question) - floor) / (1 - floor); alike > 0 {
						list = append(list, near{page[i].ID, alike})
					}
				}
			}
		}
		slices.SortFunc(list, func(a, b near) int { return cmp.Compare(b.alike, a.alike) })
		alike, ids := map[int64]float64{}, []string{}
		for some := range slices.Chunk(list, nearChunk) {
			of, in := map[int64]float64{}, []int64{}
			for _, n := range some {
				of[n.id], in = n.alike, append(in, n.id)
			}
			marks, args := database.In(in)
			where, more := seen(q, t.Now)
			rows, err := database.Select[struct{ ID, Row int64 }](t, strings.Replace(seenOfVectors, "%s", marks, 1)+where, append(args, more...)...)
			if err != nil {
				return err
			}
			for _, row := range rows {
				alike[row.Row], ids = of[row.ID], append(ids, database.Digits(row.Row))
			}
			if len(ids) >= nearMost {
				break
			}
		}
		if hits = nil; len(ids) == 0 {
			return nil
		}
		hits, err = load(t, q, ids, nil)
		for i := range hits {
			hits[i].Alike = alike[hits[i].ID]
		}
		slices.SortFunc(hits, func(a, b memory.Hit) int { return cmp.Compare(b.Alike, a.Alike) })
		hits = hits[:min(len(hits), nearMost)]
		return err
	})
	return hits, err
}
