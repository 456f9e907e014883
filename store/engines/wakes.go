package engines

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"

	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/database"
)

// Engines wake each other by NOTIFY, in a statement of its own and after the
// commit: inside a work transaction it would let one commit at a time pass.

const (
	// wakePause lies between two NOTIFY of one engine.
	wakePause = 5 * time.Millisecond
	// wakeLimit is the longest payload, in bytes, below the server's 8000.
	wakeLimit = 7900
	// wakeMost is how many different wakes are kept apart until they are sent.
	wakeMost = 512
	// wakeRetry lies between two tries while the database is away.
	wakeRetry = time.Second

	// The channel's name has the number of the table, so that two schemas of one
	// database do not receive each other's.
	wakeChannel = `SELECT 'switchboard_' || CAST(CAST(CAST('owners' AS regclass) AS oid) AS text)`
	notifyAll   = `SELECT pg_notify('switchboard_' || CAST(CAST(CAST('owners' AS regclass) AS oid) AS text), $1)`
)

// wakeNote is a payload.
type wakeNote struct {
	From  int64       `json:"o"` // the owner; 0: nobody, it is for all
	Wakes []core.Wake `json:"w"`
}

// wakes are those of one engine.
type wakes struct {
	db      *database.DB
	owner   int64
	pending *wakeSet
}

// NewWakes lets the engine of owner and the others on the database wake each other.
// Nothing is sent or received unless Listen runs; what was to be sent before is sent
// then. It is nil on SQLite, where nobody else is.
func NewWakes(db *database.DB, owner int64) core.Wakes {
	if !db.PG() {
		return nil
	}
	return &wakes{db: db, owner: owner, pending: newWakeSet()}
}

// Wake tells the other engines, after the commit.
func (w *wakes) Wake(one core.Wake) { w.pending.add(one) }

// Listen hands what other engines tell to hear, one at a time, until ctx ends.
func (w *wakes) Listen(ctx context.Context, onWake func(core.Wake)) {
	received := newWakeSet()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { w.sendPending(ctx) })
	parts.Go(func() { w.listen(ctx, received) })
	for {
		for _, one := range received.wait(ctx) {
			onWake(one)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// sendPending sends what is pending until ctx ends, and once more then.
func (w *wakes) sendPending(ctx context.Context) {
	for {
		list := w.pending.wait(ctx)
		if ctx.Err() != nil {
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), wakeRetry)
			defer stop()
			_ = w.send(last, append(list, w.pending.take()...))
			return
		}
		pause := wakePause
		if err := w.send(ctx, list); err != nil {
			// Nobody knows any more what the others missed.
			w.pending.add(core.Wake{Kind: core.WakeAll})
			pause = wakeRetry
		}
		retry.Sleep(ctx, pause)
	}
}

func (w *wakes) send(ctx context.Context, list []core.Wake) error {
	if len(list) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewEvery)
	defer stop()
	return notify(ctx, w.db, notifyAll, payload(w.owner, list))
}

// payload encodes wakes, as one that says everything where they are too many.
func payload(owner int64, list []core.Wake) string {
	text, err := json.Marshal(wakeNote{owner, list})
	if err != nil || len(text) > wakeLimit {
		text, _ = json.Marshal(wakeNote{owner, []core.Wake{{Kind: core.WakeAll}}})
	}
	return string(text)
}

// notify runs a SELECT of pg_notify, outside of any transaction.
func notify(ctx context.Context, db *database.DB, query string, args ...any) error {
	_, err := database.Value[string](ctx, db, "notify", query, args...)
	return err
}

// wakeAll has all engines, this one too, look at everything; best effort.
func wakeAll(ctx context.Context, db *database.DB) {
	if !db.PG() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, wakeRetry)
	defer stop()
	_ = notify(ctx, db, notifyAll, payload(0, []core.Wake{{Kind: core.WakeAll}}))
}

// A wakeSet collects wakes, each once, until somebody takes them. It is bounded: of
// too many only "everything" is left.
type wakeSet struct {
	mu   sync.Mutex
	list []core.Wake
	some chan struct{}
}

func newWakeSet() *wakeSet { return &wakeSet{some: make(chan struct{}, 1)} }

func (s *wakeSet) add(list ...core.Wake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		switch {
		case len(s.list) > 0 && s.list[0].Kind == core.WakeAll, slices.Contains(s.list, one):
		case one.Kind == core.WakeAll, len(s.list) == wakeMost:
			s.list = append(s.list[:0], core.Wake{Kind: core.WakeAll})
		default:
			s.list = append(s.list, one)
		}
	}
	if len(s.list) > 0 {
		retry.Signal(s.some)
	}
}

func (s *wakeSet) take() []core.Wake {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// wait takes what is there as soon as something is, or ctx has ended.
func (s *wakeSet) wait(ctx context.Context) []core.Wake {
	select {
	case <-s.some:
	case <-ctx.Done():
	}
	return s.take()
}

// errNotDelivered says that the server does not deliver what is sent with NOTIFY.
var errNotDelivered = errors.New("what is told with NOTIFY is not heard")

// Notified measures how long the server takes to deliver what one connection sends with
// NOTIFY to another; zero on SQLite. errNotDelivered: it did not within 5 s.
func Notified(ctx context.Context, db *database.DB) (took time.Duration, err error) {
	if !db.PG() {
		return 0, nil
	}
	notes := make(chan *pq.Notification, 1)
	listener, err := db.Connect("switchboard doctor", notes)
	if err != nil {
		return 0, database.Explain(err)
	}
	defer func() {
		_ = listener.Close()
		for range notes {
		}
	}()
	channel := "switchboard_doctor_" + strings.ToLower(rand.Text())
	if _, err := listener.Listen(channel); err != nil {
		return 0, database.Explain(err)
	}
	began := time.Now()
	if err := notify(ctx, db, `SELECT pg_notify(?, '')`, channel); err != nil {
		return 0, err
	}
	select {
	case n, ok := <-notes:
		if !ok || n == nil {
			return 0, errNotDelivered
		}
		return time.Since(began), nil
	case <-time.After(5 * time.Second):
		return 0, errNotDelivered
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
