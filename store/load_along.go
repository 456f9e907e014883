package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"switchboard/router"
)

// errNotAlong: a turn has to be loaded by itself.
var errNotAlong = errors.New("this was not read along")

// An alongArg is what sb_load gives: the rows of the queries that every turn is loaded
// by, as lists of values. load runs over them as over a database.
type alongArg struct {
	Turn     []json.RawMessage   `json:"turn"`
	Recent   [][]json.RawMessage `json:"recent"`
	Memories [][]json.RawMessage `json:"memories"`
}

// load is nil when the turn has to be loaded by itself; whoever runs it then meets what
// is wrong with it.
func (a *alongArg) load(ref router.TurnRef) *router.TurnData {
	if a == nil {
		return nil
	}
	data, err := (&tx{q: a, pg: true}).load(ref)
	if err != nil {
		return nil
	}
	return data
}

// query implements querier.
func (a *alongArg) query(query string, _ ...any) (rows, error) {
	switch query {
	case loadTurn:
		return &alongRows{list: [][]json.RawMessage{a.Turn}}, nil
	case loadRecent:
		return &alongRows{list: a.Recent, columns: []string{
			"id", "author", "direction", "class", "text", "forwarded_from", "taint", "count", "happened_at", "created_at",
		}}, nil
	case loadMemories:
		return &alongRows{list: a.Memories, columns: []string{"kind", "text", "taint"}}, nil
	}
	return nil, errNotAlong
}

// exec implements querier.
func (a *alongArg) exec(string, ...any) (sql.Result, error) { return nil, errNotAlong }

// alongRows are rows that have been read.
type alongRows struct {
	columns []string
	list    [][]json.RawMessage
	next    int
}

func (r *alongRows) Columns() ([]string, error) { return r.columns, nil }

func (r *alongRows) Next() bool {
	r.next++
	return r.next <= len(r.list)
}

func (r *alongRows) Scan(dest ...any) error {
	row := r.list[r.next-1]
	if len(row) != len(dest) {
		return fmt.Errorf("%d columns for %d", len(row), len(dest))
	}
	for i, to := range dest {
		if bytes.Equal(row[i], []byte("null")) {
			return fmt.Errorf("column %d is NULL", i)
		}
		if err := json.Unmarshal(row[i], to); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

func (r *alongRows) Err() error { return nil }

func (r *alongRows) Close() error { return nil }

func (db *DB) callClaim(ctx context.Context, owner int64, sessions []int64, except []string) ([]router.Claimed, error) {
	if except == nil {
		except = []string{}
	}
	var got []*claimedArg
	err := db.call(ctx, full, "claim turns", &got, callClaim, owner, db.now().UnixMicro(), jsonText(sessions), jsonText(except))
	if err != nil {
		return nil, err
	}
	out := make([]router.Claimed, len(got))
	for i, c := range got {
		out[i] = *c.claimed()
	}
	return out, nil
}
