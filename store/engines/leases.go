package engines

import (
	"fmt"

	"switchboard/router/core"
	"switchboard/store/database"
)

// A lease gives one owner a session or a channel. Its fence grows at every take
// and never shrinks; who writes under an older one finds that nothing happens.
// A lease is free when nobody owns it, or its owner is dead: ended, voided,
// declared dead, or expired by the database's clock on a server that has been up
// for long enough to renew. An owner that was late itself takes nothing from one
// that merely expired: they may have been cut off together.

const (
	// Session is the kind of a lease on a session, for its turns.
	Session = "session"
	// Channel is the kind of a lease on a channel, for its connection and sends.
	Channel = "channel"
	// Memory is the kind of a lease on a person, for what is done at rest with what they said.
	Memory = "memory"
)

// The owner o lives; it keeps its leases from somebody; it is dead for sure.
// SQLite's owners do not expire; PostgreSQL's clock judges, in 0002.
const (
	aliveSQLite   = `(o.state = 'alive')`
	alivePostgres = `sb_alive(o)`
	keepsPostgres = `sb_keeps(o, excluded.owner)`
	deadSQLite    = `(o.state <> 'alive')`
	deadPostgres  = `sb_dead(o)`
)

const (
	// takeLease takes a lease that is free, or one of these kinds that the same owner holds; dead
	// owners take nothing. %[1]s is alive, %[2]s says that an owner keeps its leases from the
	// taker.
	takeLease = `
		INSERT INTO leases (kind, name, owner, fence, taken_at)
		SELECT ?, ?, o.id, 1, ? FROM owners o WHERE o.id = ? AND %[1]s
		ON CONFLICT (kind, name) DO UPDATE SET owner = excluded.owner, fence = leases.fence + 1, taken_at = excluded.taken_at
		WHERE leases.owner IS NULL OR leases.kind IN ('channel', 'memory') AND leases.owner = excluded.owner
			OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = leases.owner AND %[2]s)
		RETURNING fence`
	// holdsLease does not ask for expiry: who was late but not replaced goes on.
	holdsLease = `
		SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = ? AND l.name = ? AND l.fence = ? AND o.state = 'alive'`
	freeLease  = `UPDATE leases SET owner = NULL WHERE kind = ? AND name = ? AND fence = ?`
	voidLease  = `UPDATE leases SET owner = NULL, fence = fence + 1 WHERE kind = ? AND name = ?`
	voidLeases = `UPDATE leases SET owner = NULL, fence = fence + 1 WHERE kind = ? AND owner IS NOT NULL`
	// leaseOf: its owner is as %[1]s says.
	leaseOf = `
		SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = ? AND l.name = ? AND %[1]s`
)

// Alive is the condition that the owner o lives.
func Alive(t *database.Tx) string { return t.Either(aliveSQLite, alivePostgres) }

// Clock is the clock that judges owners, an expression: µs. On SQLite it is ours, as the transaction began.
func Clock(t *database.Tx) string { return t.Either(database.Digits(t.Now), "sb_clock()") }

// Left says whether the lease is that of an owner that is dead for sure: one that
// was merely late did not die of what it did.
func Left(t *database.Tx, kind, name string) (bool, error) {
	return t.Has(fmt.Sprintf(leaseOf, t.Either(deadSQLite, deadPostgres)), kind, name)
}

// Take takes a lease; ok is false while a living owner holds it. A channel's and a person's are taken again
// by the engine that holds them.
func Take(t *database.Tx, kind, name string, owner int64) (fence int64, ok bool, err error) {
	keeps := t.Either(aliveSQLite, keepsPostgres)
	ok, err = t.Row(fmt.Sprintf(takeLease, Alive(t), keeps), []any{kind, name, t.Now, owner}, &fence)
	return fence, ok, err
}

// Fenced returns core.ErrFenced unless fence is the newest of a held lease.
func Fenced(t *database.Tx, kind, name string, fence int64) error {
	return t.Must(core.ErrFenced, holdsLease, []any{kind, name, fence})
}

// Keep says whether fence is the newest of a held lease, which nobody takes then before
// the transaction ends. PostgreSQL's sb_holds does the same.
func Keep(t *database.Tx, kind, name string, fence int64) (bool, error) {
	return t.Has(t.With(holdsLease, " FOR SHARE OF l"), kind, name, fence)
}

// Release gives a lease back.
func Release(t *database.Tx, kind, name string, fence int64) error {
	return t.Do(freeLease, kind, name, fence)
}

// Void has who holds a lease write nothing under it any more.
func Void(t *database.Tx, kind, name string) error { return t.Do(voidLease, kind, name) }

// VoidAll has nobody who holds a lease of a kind write anything under it any more.
func VoidAll(t *database.Tx, kind string) error { return t.Do(voidLeases, kind) }

// Held says whether a living owner has the lease.
func Held(t *database.Tx, kind, name string) (bool, error) {
	return t.Has(fmt.Sprintf(leaseOf, Alive(t)), kind, name)
}
