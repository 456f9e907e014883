package store

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"switchboard/router"
)

// Engines wake each other by NOTIFY, on a connection of its own and after the
// commit: inside a work transaction it would let one commit at a time pass.

const (
	// wakePause lies between two NOTIFY of one engine.
	wakePause = 5 * time.Millisecond
	// wakeLimit is the longest payload, in bytes, below the server's 8000.
	wakeLimit = 7900
	// wakeMost is how many different wakes are kept apart until they are told.
	wakeMost = 512
	// wakeRetry lies between two tries while the database is away.
	wakeRetry = time.Second
)

const (
	// The channel's name has the number of the table, so that two schemas of one
	// database do not hear each other.
	wakeChannel = `SELECT 'switchboard_' || CAST(CAST(CAST('owners' AS regclass) AS oid) AS text)`
	notify      = `SELECT pg_notify('switchboard_' || CAST(CAST(CAST('owners' AS regclass) AS oid) AS text), $1)`
)

// wakeNote is a payload.
type wakeNote struct {
	From  int64         `json:"o"` // the owner; 0: nobody, it is for all
	Wakes []router.Wake `json:"w"`
}

// wakes implements router.Wakes.
type wakes struct {
	db      *DB
	owner   int64
	pending *wakeSet
}

// Wakes lets the engine of owner and the others on the database wake each other.
// Nothing is told or heard unless Listen runs; what was to be told before is told
// then. It is nil on SQLite, where nobody else is.
func (db *DB) Wakes(owner int64) router.Wakes {
	if !db.PG() {
		return nil
	}
	return &wakes{db: db, owner: owner, pending: newWakeSet()}
}

// Wake implements router.Wakes.
func (w *wakes) Wake(one router.Wake) { w.pending.add(one) }

// Listen implements router.Wakes.
func (w *wakes) Listen(ctx context.Context, hear func(router.Wake)) {
	heard := newWakeSet()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { w.tell(ctx) })
	parts.Go(func() { w.listen(ctx, heard) })
	for {
		for _, one := range heard.wait(ctx) {
			hear(one)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// tell sends what is pending until ctx ends, and once more then.
func (w *wakes) tell(ctx context.Context) {
	pool, err := w.db.Notifier(renewEvery)
	if err != nil {
		return // the same address was good when the database was opened
	}
	defer pool.Close()
	for {
		list := w.pending.wait(ctx)
		if ctx.Err() != nil {
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), wakeRetry)
			defer stop()
			_ = w.send(last, pool, append(list, w.pending.take()...))
			return
		}
		pause := wakePause
		if err := w.send(ctx, pool, list); err != nil {
			// Nobody knows any more what the others missed.
			w.pending.add(router.Wake{Kind: router.WakeAll})
			pause = wakeRetry
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (w *wakes) send(ctx context.Context, pool *sqlx.DB, list []router.Wake) error {
	if len(list) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewEvery)
	defer stop()
	_, err := pool.ExecContext(ctx, notify, payload(w.owner, list))
	return err
}

// payload encodes wakes, as one that says everything where they are too many.
func payload(owner int64, list []router.Wake) string {
	text, err := json.Marshal(wakeNote{owner, list})
	if err != nil || len(text) > wakeLimit {
		text, _ = json.Marshal(wakeNote{owner, []router.Wake{{Kind: router.WakeAll}}})
	}
	return string(text)
}

// notify runs a SELECT of pg_notify, outside of any transaction.
func (db *DB) notify(ctx context.Context, query string, args ...any) error {
	return db.read(ctx, "notify", func(t *tx) error {
		_, err := t.row(query, args, new(string))
		return err
	})
}

// wakeAll tells all engines, this one too, to look at everything; best effort.
func (db *DB) wakeAll(ctx context.Context) {
	if !db.PG() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, wakeRetry)
	defer stop()
	_ = db.notify(ctx, notify, payload(0, []router.Wake{{Kind: router.WakeAll}}))
}

// A wakeSet collects wakes, each once, until somebody takes them. It is bounded: of
// too many only "everything" is left.
type wakeSet struct {
	mu   sync.Mutex
	list []router.Wake
	some chan struct{}
}

func newWakeSet() *wakeSet { return &wakeSet{some: make(chan struct{}, 1)} }

func (s *wakeSet) add(list ...router.Wake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		switch {
		case len(s.list) > 0 && s.list[0].Kind == router.WakeAll, slices.Contains(s.list, one):
		case one.Kind == router.WakeAll, len(s.list) == wakeMost:
			s.list = append(s.list[:0], router.Wake{Kind: router.WakeAll})
		default:
			s.list = append(s.list, one)
		}
	}
	if len(s.list) > 0 {
		select {
		case s.some <- struct{}{}:
		default:
		}
	}
}

func (s *wakeSet) take() []router.Wake {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// wait takes what is there as soon as something is, or ctx has ended.
func (s *wakeSet) wait(ctx context.Context) []router.Wake {
	select {
	case <-s.some:
	case <-ctx.Done():
	}
	return s.take()
}
