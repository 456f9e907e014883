package turns

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

const (
	callClaim = `SELECT sb_claim($1, $2, $3, $4, $5)`

	// headTurn is the next turn of a session; its rank says which that is.
	headTurn = `
		SELECT id, state, person, not_before FROM turns WHERE session_id = ? AND rank IS NOT NULL ORDER BY rank LIMIT 1`
	// setRunning: what a turn that was put off waited beyond its time is no time of its own.
	setRunning = `
		UPDATE turns SET state = 'running', started_at = coalesce(started_at, ?),
			waited = waited + CASE WHEN state = 'queued' AND outcome = '` + agent.OutcomeModelAway + `' AND terms IS NULL AND not_before > 0 THEN ? - not_before ELSE 0 END,
			resumed = CASE WHEN state = 'running' AND ? THEN resumed + 1 ELSE resumed END,
			holders = CASE WHEN length(holders) < 1000 THEN holders ELSE '…' || substr(holders, 500) END || ' ' || (SELECT coalesce(owner, 0)
				FROM leases WHERE kind = 'session' AND name = CAST(turns.session_id AS text)) || CAST(? AS text)
		WHERE id = ? AND rank IS NOT NULL`
	// claimable are heads of sessions nobody holds, the longest waiting first, of turns in
	// the state %[3]s. They come in the order of their index, so that the look ends with
	// the last that is wanted. %[1]s and %[2]s are the marks of channels and persons,
	// %[4]s is alive. On PostgreSQL it is sb_claimable.
	claimable = `
		SELECT t.session_id AS id FROM turns t INDEXED BY turns_oldest CROSS JOIN sessions s CROSS JOIN conversations c
		WHERE t.rank IS NOT NULL AND t.state = '%[3]s' AND c.channel IN (%[1]s) AND t.person NOT IN (%[2]s) AND t.not_before <= ?
		AND s.id = t.session_id AND c.id = s.conversation_id
		AND NOT EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.rank < t.rank)
		AND NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
			WHERE l.kind = 'session' AND l.name = CAST(t.session_id AS text) AND %[4]s)
		ORDER BY t.created_at, t.id LIMIT ?`
	callClaimable = `SELECT id FROM sb_claimable(?, ?, ?, ?, ?) AS id`
)

func (db *Store) callClaim(ctx context.Context, owner int64, sessions []int64, except []string, limit int) (out []core.Claimed, locked []int64, err error) {
	if except == nil {
		except = []string{}
	}
	var got struct {
		Claimed []*ClaimedArg
		Locked  []int64
	}
	err = db.Call(ctx, database.Durable, "claim turns", &got, callClaim, owner, db.Now().UnixMicro(), database.JSONText(sessions), database.JSONText(except), limit)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range got.Claimed {
		out = append(out, *c.Claimed())
	}
	return out, got.Locked, nil
}

// claimAgain is how long Claim waits for sessions that somebody had locked: longer than
// any transaction of ours takes.
const claimAgain = 50 * time.Millisecond

// claimTwice claims among sessions, and once more those that somebody had locked just now,
// who may not know that they wait.
func (db *Store) claimTwice(ctx context.Context, owner int64, sessions []int64, except []string, limit int) ([]core.Claimed, error) {
	out, locked, err := db.callClaim(ctx, owner, sessions, except, limit)
	if err != nil || len(locked) == 0 || len(out) == limit {
		return out, err
	}
	if !retry.Sleep(ctx, claimAgain) {
		return out, nil
	}
	more, _, err := db.callClaim(ctx, owner, locked, except, limit-len(out))
	if len(out) > 0 {
		err = nil // those are claimed
	}
	return append(out, more...), err
}

// claim takes a session's lease if it is free and sets its head running. It
// returns nil when there is nothing to claim. The session is locked; the event of
// the beginning is left for the caller.
func claim(t *database.Tx, owner, session int64, except []string) (*core.Claimed, []sessions.Event, error) {
	left, err := engines.Left(t, engines.Session, database.Digits(session))
	if err != nil {
		return nil, nil, err
	}
	fence, ok, err := engines.Take(t, engines.Session, database.Digits(session), owner)
	if err != nil || !ok {
		return nil, nil, err
	}
	c, began, err := head(t, session, fence, left, except)
	if err == nil && c == nil {
		err = engines.Release(t, engines.Session, database.Digits(session), fence)
	}
	return c, began, err
}

// head sets the next turn of a session running under its lease; nil when there
// is none, or it waits for more to be collected. left says that the holder before
// died, and is counted on a turn that it left running. The event of the beginning
// is left for the caller.
func head(t *database.Tx, session, fence int64, left bool, except []string) (*core.Claimed, []sessions.Event, error) {
	c := &core.Claimed{TurnRef: core.TurnRef{SessionID: session, Fence: fence}}
	var state string
	var notBefore int64
	found, err := t.Row(headTurn, []any{session}, &c.TurnID, &state, &c.Person, &notBefore)
	if err != nil || !found || notBefore > t.Now || slices.Contains(except, c.Person) {
		return nil, nil, err
	}
	if _, err := t.Exec(setRunning, t.Now, t.Now, left, fmt.Sprintf(":%d:%d", fence, t.Now), c.TurnID); err != nil || state != "queued" {
		return c, nil, err
	}
	return c, []sessions.Event{sessions.TurnEvent(c.TurnID, "running", "")}, nil
}

// Claim takes the leases of up to limit sessions that nobody holds and whose next turn is queued, or was left
// running by a dead owner; the longest waiting first, none whose next turn is for a person in except.
func (r *Store) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	if limit <= 0 || len(of) == 0 {
		return nil, nil
	}
	spare := 0
	if r.PG() {
		spare = claimSpare
	}
	ids, err := r.claimable(ctx, owner, of, except, limit+spare)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if r.PG() {
		return r.claimTwice(ctx, owner, ids, except, limit)
	}
	return database.Write(ctx, r.DB, database.Async, "claim turns", func(t *database.Tx) (out []core.Claimed, err error) {
		for _, session := range ids {
			c, began, err := claim(t, owner, session, except)
			if err == nil {
				_, err = sessions.Emit(t, session, began...)
			}
			if err != nil {
				return nil, err
			}
			if c != nil {
				out = append(out, *c)
			}
		}
		return out, nil
	})
}

// claimable looks without a lock, and beside SQLite's writer; claim looks again.
func (r *Store) claimable(ctx context.Context, owner int64, of, except []string, limit int) (sessions []int64, err error) {
	err = r.Read(ctx, "find turns", func(t *database.Tx) (err error) {
		if t.PG {
			sessions, err = t.IDs(callClaimable, owner, database.JSONText(of), database.JSONText(except), t.Now, limit)
			return err
		}
		chMarks, args := database.In(of)
		exMarks, exArgs := database.In(except)
		if len(except) == 0 {
			exMarks = "''" // no turn is for nobody
		}
		args = append(append(args, exArgs...), t.Now)
		// What was left running has waited for longer than what was not begun.
		sessions, err = t.IDs(fmt.Sprintf(claimable, chMarks, exMarks, "running", engines.Alive(t)), append(args, limit)...)
		if err != nil || len(sessions) == limit {
			return err
		}
		queued, err := t.IDs(fmt.Sprintf(claimable, chMarks, exMarks, "queued", engines.Alive(t)), append(args, limit-len(sessions))...)
		sessions = append(sessions, queued...)
		return err
	})
	return sessions, err
}

// claimSpare is how many sessions more than wanted Claim looks at on PostgreSQL, where
// others may be faster, or stand still with a session locked.
const claimSpare = 16
