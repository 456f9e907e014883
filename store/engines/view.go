package engines

import (
	"context"
	"fmt"
	"time"

	"switchboard/store/database"
)

// recentEngines is how long an engine that is gone is listed.
const recentEngines = 24 * time.Hour

const (
	// listEngines: alive, clock and lock differ. An engine that ended or was found dead
	// long ago is of no interest.
	listEngines = `
		SELECT o.id, o.host, o.pid, o.started_at, o.renewed_at, o.state,
			%[1]s AS alive, o.declared_at IS NOT NULL AS declared, %[2]s AS clock, %[3]s AS locked,
			(SELECT count(*) FROM leases l WHERE l.owner = o.id AND l.kind = 'session') AS sessions
		FROM owners o WHERE coalesce(o.ended_at, o.declared_at, %[4]s) > ? ORDER BY o.id DESC LIMIT 100`
	listHolds = `SELECT owner, name FROM leases WHERE kind = 'channel' AND owner IS NOT NULL ORDER BY name`
)

// A View is an engine for people to read.
type View struct {
	ID        int64
	Host      string
	PID       int
	StartedAt time.Time
	// State is alive; late: not renewed in time, so that its leases may be taken; dead:
	// found dead by others, or voided by the next start; or ended: it was stopped.
	State string
	// Renewed is how long ago its row was renewed, by the database's clock; negative: it
	// does not have to be (SQLite).
	Renewed time.Duration
	// Locked says that somebody holds the lock that goes with it.
	Locked   bool
	Sessions int      // whose lease it has
	Channels []string // whose lease it has
}

type engineRow struct {
	View
	Alive, Declared  bool
	RenewedAt, Clock int64
}

// List lists the engines on the database that live, or were there within a day,
// the newest first.
func List(ctx context.Context, db *database.DB) (list []View, err error) {
	// On SQLite the lock file says who lives, and a start voids the others.
	query := fmt.Sprintf(listEngines, aliveSQLite, "0", aliveSQLite, "CASE o.state WHEN 'alive' THEN 9223372036854775807 ELSE 0 END")
	if db.PG() {
		query = fmt.Sprintf(listEngines, alivePostgres, "sb_clock()", "sb_locked(o.id)", "greatest(o.renewed_at, o.expires_at)")
	}
	err = db.Read(ctx, "list engines", func(t *database.Tx) (err error) {
		type lease struct {
			Owner int64
			Name  string
		}
		channels := map[int64][]string{}
		leases, err := database.Select[lease](t, listHolds)
		if err != nil {
			return err
		}
		for _, l := range leases {
			channels[l.Owner] = append(channels[l.Owner], l.Name)
		}
		list, err = database.Views(t, func(r *engineRow) View {
			r.Channels = channels[r.ID]
			return r.view(t.PG)
		}, query, time.Now().Add(-recentEngines).UnixMicro())
		return err
	})
	return list, err
}

func (r *engineRow) view(shared bool) View {
	v := r.View
	if v.Renewed = -1; shared {
		v.Renewed = time.Duration(r.Clock-r.RenewedAt) * time.Microsecond
	}
	switch {
	case r.State == "voided", r.State == "alive" && r.Declared:
		v.State = "dead"
	case r.State == "alive" && !r.Alive:
		v.State = "late"
	}
	return v
}

// ClockDifference is how far the database's clock is ahead of this program's, within
// the time that asking took, which is returned too; zero on SQLite.
func ClockDifference(ctx context.Context, db *database.DB) (ahead, within time.Duration, err error) {
	if !db.PG() {
		return 0, 0, nil
	}
	begun := time.Now()
	clock, err := database.Value[time.Time](ctx, db, "ask for the time", `SELECT sb_clock()`)
	if err != nil {
		return 0, 0, err
	}
	within = time.Since(begun)
	return clock.Sub(begun.Add(within / 2)), within, nil
}
