package engines_test

import (
	"testing"
	"time"

	"switchboard/store/storetest"
)

// The database's clock is set back by an hour. Nobody takes over from the living because
// of it, and an engine that dies then is found like any other.
func TestDatabaseClockSetBackLosesNobodyAlive(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t) // and no data folder
	a, b := newHouse(t, db), newHouse(t, db)
	run(t, db, "CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql VOLATILE AS "+
		"'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) - 60000000'")
	run(t, db, "UPDATE owners SET in_time_since = sb_clock() - 60000000") // both have run well for a minute
	ref := a.Begun("c", "1")
	a.Hold()
	at := -time.Hour
	serverClock(t, db, at)
	// They renewed just before, one after the other.
	run(t, db, "UPDATE owners SET in_time_since = 0, renewed_at = sb_clock() + 13000000 WHERE id = "+nameOf(b.owner()),
		"UPDATE owners SET renewed_at = sb_clock() + 17000000 WHERE id = "+nameOf(a.owner()))
	if b.taken(ref) {
		t.Fatal("taken from an engine that has not renewed by the new clock yet")
	}
	b.renew()
	if b.taken(ref) {
		t.Fatal("taken by the first to renew")
	}
	a.renew()
	later := func(d time.Duration) {
		at += d
		serverClock(t, db, at)
		b.renew()
		b.look()
		b.Engine.Looked(d)
	}
	for range 4 {
		later(5 * time.Second)
		a.renew()
		b.look()
	}
	if b.taken(ref) {
		t.Fatal("taken from an engine with its lock")
	}
	if err := a.Engine.Abandon(); err != nil {
		t.Fatal(err)
	}
	later(5 * time.Second)
	later(5 * time.Second)
	b.look()
	if !b.taken(ref) {
		t.Error("10 s after its death nobody has taken over")
	}
}

// An engine died before the database's clock was set back: it is not alive until that hour
// is over, be its lock held or not.
func TestEngineDeadBeforeTheClockWasSetBackIsFound(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	ref := a.Begun("c", "1")
	a.Hold()
	serverClock(t, b.DB, -time.Hour)
	b.renew()
	serverClock(t, b.DB, -time.Hour+5*time.Second)
	b.renew()
	serverClock(t, b.DB, -time.Hour+11*time.Second)
	if !b.taken(ref) {
		t.Error("an engine that has not renewed since keeps its leases")
	}
}
