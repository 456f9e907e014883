package turns

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/database"
)

// errNotAlong: a turn has to be loaded by itself.
var errNotAlong = errors.New("this was not read along")

// An alongArg is what sb_load gives: the rows of the queries that every turn is loaded
// by, as lists of values. load runs over them as over a database.
type alongArg struct{ Turn, Recent, Memories json.RawMessage }

// load is nil when the turn has to be loaded by itself; whoever runs it then meets what
// is wrong with it.
func (a *alongArg) load(ref core.TurnRef) *core.TurnData {
	if a == nil {
		return nil
	}
	data, err := load(a.tx(), ref)
	if err != nil {
		return nil
	}
	return data
}

func (a *alongArg) tx() *database.Tx { return &database.Tx{Q: a, PG: true} }

// Query implements a querier of database.
func (a *alongArg) Query(query string, _ ...any) (database.Rows, error) {
	switch query {
	case loadTurn:
		return rowsOf(slices.Concat([]byte{'['}, a.Turn, []byte{']'})), nil
	case loadRecent:
		return rowsOf(a.Recent, "id", "author", "person", "direction", "class", "origin", "text", "forwarded_from", "taint", "count",
			"happened_at", "created_at"), nil
	case loadMemories:
		return rowsOf(a.Memories, "kind", "text", "taint"), nil
	}
	return nil, errNotAlong
}

// Exec implements a querier of database.
func (a *alongArg) Exec(string, ...any) (sql.Result, error) { return nil, errNotAlong }

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
