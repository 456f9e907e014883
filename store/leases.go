package store

import (
	"fmt"
	"strconv"

	"switchboard/router"
	"switchboard/store/database"
)

// A lease gives one owner a session or a channel. Its fence grows at every take
// and never shrinks; who writes under an older one finds that nothing happens.
// A lease is free when nobody owns it, or its owner is dead: ended, voided,
// declared dead, or expired by the database's clock on a server that has been up
// for long enough to renew. An owner that was late itself takes nothing from one
// that merely expired: they may have been cut off together.

const (
	leaseSession = "session"
	leaseChannel = "channel"
)

// The owner o lives; it keeps its leases from somebody; it is dead for sure.
// SQLite's owners do not expire; PostgreSQL's clock judges, in 0002.
const (
	aliveSQLite   = `(o.state = 'alive')`
	alivePostgres = `sb_alive(o)`
	keepsPostgres = `sb_keeps(o, %s)`
	deadSQLite    = `(o.state <> 'alive')`
	deadPostgres  = `sb_dead(o)`
)

const (
	// takeLease takes a lease that is free; dead owners take nothing. %[1]s is alive,
	// %[2]s says that an owner keeps its leases from the taker.
	takeLease = `
		INSERT INTO leases (kind, name, owner, fence, taken_at)
		SELECT ?, ?, o.id, 1, ? FROM owners o WHERE o.id = ? AND %[1]s
		ON CONFLICT (kind, name) DO UPDATE SET owner = excluded.owner, fence = leases.fence + 1, taken_at = excluded.taken_at
		WHERE leases.owner IS NULL OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = leases.owner AND %[2]s)
		RETURNING fence`
	// takeAgain also takes what the same owner holds.
	takeAgain = `
		INSERT INTO leases (kind, name, owner, fence, taken_at)
		SELECT ?, ?, o.id, 1, ? FROM owners o WHERE o.id = ? AND %[1]s
		ON CONFLICT (kind, name) DO UPDATE SET owner = excluded.owner, fence = leases.fence + 1, taken_at = excluded.taken_at
		WHERE leases.owner IS NULL OR leases.owner = excluded.owner
			OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = leases.owner AND %[2]s)
		RETURNING fence`
	// holdsLease does not ask for expiry: who was late but not replaced goes on.
	holdsLease = `
		SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = ? AND l.name = ? AND l.fence = ? AND o.state = 'alive'`
	freeLease = `UPDATE leases SET owner = NULL WHERE kind = ? AND name = ? AND fence = ?`
	// leaseLeft: its owner is dead and did not give it back. %[1]s is dead.
	leaseLeft = `
		SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = ? AND l.name = ? AND %[1]s`
	leaseHeld = `
		SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = ? AND l.name = ? AND %[1]s`
)

// forLeases is how durable a change of leases is. A PostgreSQL server may crash
// and come back while we live: a fence that was given out must not be given out
// again, and a lease that we gave back must not be ours again. SQLite loses
// commits only together with the engine, whose leases the next start voids.
func (db *DB) forLeases() database.Durability {
	if db.PG() {
		return full
	}
	return rides
}

func (t *tx) alive() string {
	if t.PG {
		return alivePostgres
	}
	return aliveSQLite
}

// clock is the clock that judges owners, an expression: µs.
func (t *tx) clock() string {
	if t.PG {
		return "sb_clock()"
	}
	return name(t.now)
}

// keeps says that the owner o keeps its leases from taker, an expression.
func (t *tx) keeps(taker string) string {
	if t.PG {
		return fmt.Sprintf(keepsPostgres, taker)
	}
	return aliveSQLite
}

// left says whether the lease is that of an owner that is dead for sure: one that
// was merely late did not die of what it did.
func (t *tx) left(kind, name string) (bool, error) {
	dead := deadSQLite
	if t.PG {
		dead = deadPostgres
	}
	var one int
	return t.row(fmt.Sprintf(leaseLeft, dead), []any{kind, name}, &one)
}

// take takes a lease; ok is false while a living owner holds it.
func (t *tx) take(query, kind, name string, owner int64) (fence int64, ok bool, err error) {
	ok, err = t.row(fmt.Sprintf(query, t.alive(), t.keeps("excluded.owner")), []any{kind, name, t.now, owner}, &fence)
	return fence, ok, err
}

// fenced returns ErrFenced unless fence is the newest of a held lease.
func (t *tx) fenced(kind, name string, fence int64) error {
	var one int
	found, err := t.row(holdsLease, []any{kind, name, fence}, &one)
	if err == nil && !found {
		err = router.ErrFenced
	}
	return err
}

func (t *tx) release(kind, name string, fence int64) error {
	_, err := t.exec(freeLease, kind, name, fence)
	return err
}

// held says whether a living owner has the lease.
func (t *tx) held(kind, name string) (bool, error) {
	var one int
	return t.row(fmt.Sprintf(leaseHeld, t.alive()), []any{kind, name}, &one)
}

func name(id int64) string { return strconv.FormatInt(id, 10) }
