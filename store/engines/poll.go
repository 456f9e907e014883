package engines

import (
	"context"
	"time"

	"switchboard/internal/retry"
	"switchboard/store/database"
)

// An engine looks every 5 s whether another one has died, so that nobody has to
// wait for an owner to expire. It says so in the row; whoever was taken for dead and
// is not renews, and goes on with what was not taken over.

const (
	pollEvery = 5 * time.Second
	// lockFreeFor is how long a lock must have been free, with no renewal between.
	lockFreeFor = 6 * time.Second

	// others lists the owners that are not known to be dead. Sure: if one does not come
	// forward it is its own fault, and not the server's or ours.
	others = `
		SELECT o.id, o.host, o.pid, o.renewed_at, NOT sb_locked(o.id) AS free, sb_in_time(?) AND NOT sb_restarted() AS sure
		FROM owners o WHERE o.state = 'alive' AND o.declared_at IS NULL AND o.id <> ?`
	declareDead = `
		UPDATE owners SET declared_at = sb_clock()
		WHERE id = ? AND state = 'alive' AND declared_at IS NULL AND renewed_at = ? AND NOT sb_locked(id)`
)

type other struct {
	ID, PID, RenewedAt int64
	Host               string
	Free, Sure         bool
}

// A freeOwner is one whose lock was found free.
type freeOwner struct {
	since     time.Time
	renewedAt int64
}

// keepPolling looks every 5 s, and sooner when the time of one whose lock is free is over.
func (e *Engine) keepPolling(ctx context.Context) {
	for pause := pollEvery; retry.Sleep(ctx, pause); pause = e.nextPoll(time.Now()) {
		if _, err := e.poll(ctx); err != nil && ctx.Err() == nil {
			e.log.DebugContext(ctx, "looking for dead engines failed", "error", err)
		}
	}
}

func (e *Engine) nextPoll(now time.Time) time.Duration {
	next := pollEvery
	for _, s := range e.seen {
		next = min(next, lockFreeFor-now.Sub(s.since))
	}
	return max(next, 50*time.Millisecond)
}

// poll declares dead whose process is surely gone, and whose lock stayed free. It
// returns the owners whose lock is held.
func (e *Engine) poll(ctx context.Context) (held map[int64]bool, err error) {
	ctx, stop := context.WithTimeout(ctx, pollEvery)
	defer stop()
	list, err := database.List[other](ctx, e.db, "look for dead engines", others, e.id, e.id)
	if err != nil {
		clear(e.seen) // what was not looked at may have been there
		return nil, err
	}
	now := time.Now()
	held, seen := map[int64]bool{}, map[int64]freeOwner{}
	for _, o := range list {
		if !o.Free {
			held[o.ID] = true
			continue
		}
		gone := e.file.gone(o.ID)
		before, known := e.seen[o.ID]
		if o.Sure && (!known || before.renewedAt != o.RenewedAt) {
			before, known = freeOwner{now, o.RenewedAt}, true
		}
		if gone || o.Sure && now.Sub(before.since) >= lockFreeFor {
			if err := e.declare(ctx, o, gone); err != nil {
				return held, err
			}
		} else if o.Sure && known {
			seen[o.ID] = before
		}
	}
	e.seen = seen
	return held, nil
}

// declare says in the row that an owner is dead, unless it came forward meanwhile.
func (e *Engine) declare(ctx context.Context, o other, gone bool) error {
	n, err := database.Write(ctx, e.db, database.Durable, "declare engine dead", func(t *database.Tx) (int64, error) {
		return t.Exec(declareDead, o.ID, o.RenewedAt)
	})
	if err != nil || n == 0 {
		return err
	}
	e.log.InfoContext(ctx, "an engine has died; its work goes on elsewhere",
		"owner", o.ID, "host", o.Host, "pid", o.PID, "process_gone", gone,
		"renewed_ago", time.Since(time.UnixMicro(o.RenewedAt)).Round(time.Millisecond))
	if gone {
		e.file.discard(ctx, o.ID, e.log)
	}
	wakeAll(ctx, e.db)
	return nil
}

// clear declares dead at once whose process is surely gone, and removes what such
// processes left in the data folder.
func (e *Engine) clear(ctx context.Context) {
	var held map[int64]bool
	if e.db.PG() {
		var err error
		if held, err = e.poll(ctx); err != nil {
			e.log.WarnContext(ctx, "looking for dead engines failed", "error", err)
			return
		}
	}
	for _, owner := range e.file.others() {
		if !held[owner] && e.file.gone(owner) {
			e.file.discard(ctx, owner, e.log)
		}
	}
}
