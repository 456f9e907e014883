package jobs

import (
	"context"
	"fmt"
	"time"

	"switchboard/store/database"
)

// Facts are what stands in the database and needs somebody's eye.
type Facts struct {
	Open    int           // turns that are queued or running
	Oldest  time.Duration // how long the oldest of them was asked ago
	Pending int           // parts that wait to be sent
	Dead    int           // parts that are dead, of the latest hundred thousand
	Unknown int           // parts that are unknown for good, of the same
}

const (
	openFacts    = `SELECT count(*), coalesce(min(created_at), 0) FROM turns WHERE rank IS NOT NULL`
	pendingFacts = `SELECT count(*) FROM deliveries WHERE settled = FALSE`
	lostFacts    = `
		SELECT coalesce(sum(CASE WHEN state = 'dead' THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN state = 'unknown' THEN 1 ELSE 0 END), 0)
		FROM deliveries WHERE settled = TRUE AND state IN ('dead', 'unknown') AND id > (SELECT coalesce(max(id), 0) - 100000 FROM deliveries)`
)

// Facts reads them; no engine is needed for it.
func (db *Store) Facts(ctx context.Context) (f Facts, err error) {
	err = db.Read(ctx, "look through the ledger", func(t *database.Tx) error {
		var oldest int64
		err := t.Run(
			database.Row(openFacts, nil, &f.Open, &oldest),
			database.Row(pendingFacts, nil, &f.Pending),
			database.Row(lostFacts, nil, &f.Dead, &f.Unknown),
		)
		if oldest != 0 {
			f.Oldest = time.Duration(t.Now-oldest) * time.Microsecond
		}
		return err
	})
	return f, err
}

// JobFacts are the jobs that need somebody's eye, by number, at most a hundred of each.
type JobFacts struct {
	Active   int     // how many wait for their time, or are due
	Own      int     // of those, the program's own
	Disabled []int64 // they failed too often
	Paused   []int64 // by the program: who has them may not any more
	Overdue  []int64 // due for longer than JobOverdue, and nobody began them
}

// Late is how long a job may be due before it is asked why nobody begins it.
const Late = time.Minute

const (
	countActive = `SELECT count(*), count(CASE WHEN owner IS NULL OR owner = '' THEN 1 END) FROM jobs WHERE state = 'active'`
	jobsThat    = `SELECT id FROM jobs WHERE %s ORDER BY id LIMIT 100`
)

// JobFacts reads them; no engine is needed for it.
func (db *Store) JobFacts(ctx context.Context) (f JobFacts, err error) {
	err = db.Read(ctx, "look through the jobs", func(t *database.Tx) error {
		now, err := clockNow(t)
		if err != nil {
			return err
		}
		if _, err := t.Row(countActive, nil, &f.Active, &f.Own); err != nil {
			return err
		}
		if f.Disabled, err = t.IDs(fmt.Sprintf(jobsThat, "state = 'disabled'")); err != nil {
			return err
		}
		if f.Paused, err = t.IDs(fmt.Sprintf(jobsThat, "state = 'paused' AND reason <> ''")); err != nil {
			return err
		}
		f.Overdue, err = t.IDs(fmt.Sprintf(jobsThat, "state = 'active' AND due_at > 0 AND due_at <= ? AND NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = jobs.owner)"), now-Late.Microseconds())
		return err
	})
	return f, err
}
