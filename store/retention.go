package store

import "context"

const retaining = "retention" // the name of the lease, so that one engine alone does it

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
	fence, ok, err := db.lease(ctx, retaining, owner)
	if err != nil || !ok {
		return 0, err
	}
	s := &sweeper{db: db, keep: keep, fence: fence}
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
