package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// Retention says how long rows are kept that nothing needs any more. Who finds a row
// to be gone knows it only from its number. Event keys live 30 days whatever it says.
type Retention struct {
	Turns     time.Duration // turns since they ended, with all that is theirs; messages without one; events
	Strangers time.Duration // messages of those who were kept out, rejected input
	Prompts   time.Duration // exact requests to models and their answers
	Audit     time.Duration
	Runs      time.Duration // runs of jobs since they ended, jobs that are over, notifications that were read
	// Sessions is how long a session is kept after its last message, with its conversation;
	// so are people let in by an open policy after they were last seen, and former IDs of
	// conversations. It does not begin before all else of the session is gone.
	Sessions time.Duration
	// Named says that something besides the rows names a conversation, or a former ID of
	// one, which is then kept. Nil: nothing does.
	Named func(channel, conversation string) bool
	// AwayLimit is how many parts wait for a channel that is away; of more, and of those that are a
	// week old, the oldest are dropped. 0: no limit of their number.
	AwayLimit int
	// Connected says that this engine is connected to a channel, so that it is not away. Nil: to none.
	Connected func(channel string) bool
	// DroppedFor is told how many parts were dropped that waited for a channel, once they are. Nil:
	// nobody is.
	DroppedFor func(channel string, parts int64)
	// Dropped is told of each session that is gone for good, once it is, so that what it
	// had outside of the database can go as well. Nil: nobody is.
	Dropped func(session int64)
}

func (r *Retention) named(channel, conversation string) bool {
	return r.Named != nil && r.Named(channel, conversation)
}

const (
	leaseRun  = "run"       // the kind of the leases of the program's own work
	retaining = "retention" // the name of the lease, so that one engine alone does it
)

// A batch touches some hundred rows, so that nobody waits for it, and is followed by a
// pause that is a multiple of what it took.
const (
	batchTurns = 50
	batchRows  = 500
	pauseLeast = 20 * time.Millisecond
	pauseTimes = 4
)

// A page is a row on the way through a table by its number: whether it is old enough
// for those behind it to be looked at, and whether it can go.
type page struct {
	ID     int64
	Recent bool
	Ready  bool
	// Of a conversation.
	Channel, Conversation string
}

// clocksApart is how far our clock may be from the database's for us to say what is old.
const clocksApart = time.Hour

// Retain has the engine of owner clear away at once what is older than keep says, in small batches with pauses,
// and returns how many rows it was told of (those that go with a turn are not counted).
// While another engine does so, it does nothing, nor while our clock and the database's
// differ by more than an hour: nobody knows then what is old.
func (db *DB) Retain(ctx context.Context, owner int64, keep Retention) (rows int64, err error) {
	ok, err := db.knowsTheTime(ctx)
	if err != nil || !ok {
		return 0, err
	}
	if err := db.takeIntoAudit(ctx); err != nil { // what is not there stays
		return 0, err
	}
	s := &sweeper{db: db, keep: keep}
	err = db.Write(ctx, db.ForLeases(), "begin to clear away", func(t *database.Tx) error {
		s.fence, ok, err = engines.Take(t, leaseRun, retaining, owner, t.Now)
		return err
	})
	if err != nil || !ok {
		return 0, err
	}
	defer s.db.endLease(ctx, retaining, s.fence)
	for _, part := range []func(context.Context) error{
		s.events, s.turns, s.messages, s.strangers, s.bodies, s.plain, s.away, s.money, s.audit, s.engines, s.moves, s.jobs, s.conversations, s.people,
	} {
		if err := part(ctx); err != nil {
			return s.rows, err
		}
	}
	return s.rows, nil
}

// knowsTheTime says whether our clock is about the database's. What it finds is in the log
// once.
func (db *DB) knowsTheTime(ctx context.Context) (bool, error) {
	if !db.PG() {
		return true, nil
	}
	var theirs int64
	err := db.Read(ctx, "read the clock", func(t *database.Tx) error {
		_, err := t.Row(`SELECT sb_clock()`, nil, &theirs)
		return err
	})
	if err != nil {
		return false, err
	}
	ahead := db.Now().Sub(database.Instant(theirs))
	if ahead.Abs() <= clocksApart {
		db.astray.Store(false)
		return true, nil
	}
	if !db.astray.Swap(true) {
		db.Log().ErrorContext(ctx, "the clocks of this machine and of the database differ; old rows are not cleared away until one of them is set right",
			"ahead", ahead.Round(time.Second).String())
	}
	return false, nil
}

// sweeper is one pass under the lease. What is to go is found beside the writer, and
// deleted by number.
type sweeper struct {
	db    *DB
	keep  Retention
	fence int64
	rows  int64
	// dropped are the sessions that the batch deletes.
	dropped []int64
}

// before is the instant up to which what is kept for d is old.
func (s *sweeper) before(d time.Duration) int64 { return s.db.Now().Add(-d).UnixMicro() }

// batch deletes in one transaction, and then lets others work.
func (s *sweeper) batch(ctx context.Context, fn func(*database.Tx) (int64, error)) (n int64, err error) {
	began := time.Now()
	err = s.db.Write(ctx, database.Async, "clear away", func(t *database.Tx) error {
		if err := engines.Fenced(t, leaseRun, retaining, s.fence); err != nil {
			return err
		}
		n, err = fn(t)
		return err
	})
	if err != nil {
		return 0, err
	}
	s.rows += n
	for _, session := range s.dropped {
		if s.keep.Dropped != nil {
			s.keep.Dropped(session)
		}
	}
	s.dropped = nil
	retry.Sleep(ctx, max(pauseLeast, pauseTimes*time.Since(began)))
	return n, ctx.Err()
}

// until repeats a batch of one statement until it finds less than it may.
func (s *sweeper) until(ctx context.Context, query string, args ...any) error {
	for {
		n, err := s.batch(ctx, func(t *database.Tx) (int64, error) { return t.Exec(query, args...) })
		if err != nil || n < batchRows {
			return err
		}
	}
}

// walk goes through a table from its oldest row, limit rows at a time, and lets remove
// delete those that can go, until it meets a recent one. What cannot be deleted keeps
// nothing else from it.
func (s *sweeper) walk(ctx context.Context, query string, limit int, args []any, remove func(t *database.Tx, ids []int64) (int64, error)) error {
	var faults []error
	for after := int64(0); ; {
		var rows []page
		began := time.Now()
		err := s.db.Read(ctx, "look for what is old", func(t *database.Tx) error {
			rows = nil
			return t.All(&rows, query, append(slices.Clone(args), after, limit)...)
		})
		if err != nil {
			return err
		}
		var ids []int64
		recent := false
		for _, r := range rows {
			if recent = r.Recent; recent {
				break
			}
			if after = r.ID; r.Ready && !s.keep.named(r.Channel, r.Conversation) {
				ids = append(ids, r.ID)
			}
		}
		if len(ids) == 0 { // a batch pauses by itself
			if retry.Sleep(ctx, time.Since(began)); ctx.Err() != nil {
				return err
			}
		} else {
			_, err := s.batch(ctx, func(t *database.Tx) (int64, error) { return remove(t, ids) })
			if err != nil && !errors.Is(err, core.ErrConflict) {
				return err
			} else if err != nil {
				faults = append(faults, err)
			}
		}
		if recent || len(rows) < limit {
			return errors.Join(faults...)
		}
	}
}

// padded are the arguments of a list of n marks: one statement for lists of any length.
func padded(ids []int64, n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = ids[min(i, len(ids)-1)]
	}
	return args
}

// marked writes n marks in place of %s, which may be there several times.
func marked(query string, n int) string {
	return strings.ReplaceAll(query, "%s", strings.TrimSuffix(strings.Repeat("?,", n), ","))
}
