package memory

import (
	"math"
	"slices"
	"sync"
	"time"

	"switchboard/agent/memory"
	"switchboard/store/database"
)

const (
	// shelvesBytes bounds what is kept of all scopes, and shelfLife for how long of one: then what was deleted leaves it.
	shelvesBytes = 12 << 20
	shelfLife    = time.Hour
	// shelvesMost bounds how many scopes are kept; most have few vectors.
	shelvesMost = 1000
	// shelfPage is how many vectors are read at once.
	shelfPage = 500
	// vectorBytes is what a vector takes besides its numbers.
	vectorBytes = 64

	newVectors = `SELECT id, vector FROM vectors WHERE scope = ? AND model = ? AND dimension = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`
)

// shelves keep the vectors of some scopes, so that they are not read with each message. What is found by them is looked up again: they may
// have what is gone by now.
type shelves struct {
	mu    sync.Mutex
	of    map[shelfOf]*shelf
	bytes int
	uses  int64
}

type shelfOf struct {
	scope     memory.Scope
	model     string
	dimension int
}

// A shelf does not change but for its use.
type shelf struct {
	pages [][]vector // in no order
	count int
	to    int64 // the newest
	made  time.Time
	used  int64
}

// A vector is packed.
type vector struct {
	ID     int64
	Vector []byte
}

// pages are the vectors of a scope, with those that are new since they were read last; of very many the newest.
func (s *shelves) pages(t *database.Tx, of shelfOf) ([][]vector, error) {
	s.mu.Lock()
	now := shelf{made: time.Now()}
	if had := s.of[of]; had != nil && time.Since(had.made) < shelfLife {
		now = *had
	}
	s.mu.Unlock()
	most := shelvesBytes / (of.dimension + vectorBytes)
	var fresh [][]vector
	for after, before, n := now.to, int64(math.MaxInt64), 0; n < most; {
		rows, err := database.Select[vector](t, newVectors, of.scope, of.model, of.dimension, after, before, shelfPage)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			now.to, before = max(now.to, row.ID), row.ID
		}
		if n += len(rows); len(rows) > 0 {
			fresh = append(fresh, rows)
		}
		if len(rows) < shelfPage {
			break
		}
	}
	if now.pages = slices.Concat(fresh, now.pages); fresh != nil {
		now.count = 0
		for i, page := range now.pages {
			if now.count += len(page); now.count > most {
				now.pages = now.pages[:i]
				now.count -= len(page)
				break
			}
		}
	}
	s.keep(of, &now)
	return now.pages, nil
}

// keep puts a shelf in the place of what was kept of its scope, and drops those that were not used for longest.
func (s *shelves) keep(of shelfOf, now *shelf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	now.used = s.uses
	s.drop(of)
	s.of[of] = now
	s.bytes += now.count * (of.dimension + vectorBytes)
	for s.bytes > shelvesBytes || len(s.of) > shelvesMost {
		var oldest shelfOf
		for at, one := range s.of {
			if old := s.of[oldest]; old == nil || one.used < old.used {
				oldest = at
			}
		}
		s.drop(oldest)
	}
}

func (s *shelves) drop(of shelfOf) {
	if had := s.of[of]; had != nil {
		s.bytes -= had.count * (of.dimension + vectorBytes)
		delete(s.of, of)
	}
}
