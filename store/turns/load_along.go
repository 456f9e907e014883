package turns

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"switchboard/router/core"
	"switchboard/store/database"
)

// errNotAlong: a turn has to be loaded by itself.
var errNotAlong = errors.New("this was not read along")

// An alongArg is what sb_load gives: the rows of the queries that every turn is loaded
// by, as lists of values. load runs over them as over a database.
type alongArg struct{ Turn, Recent json.RawMessage }

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

// Query gives what was read along.
func (a *alongArg) Query(query string, _ ...any) (database.Rows, error) {
	switch query {
	case loadTurn:
		return rowsOf(slices.Concat([]byte{'['}, a.Turn, []byte{']'})), nil
	case loadRecent:
		return rowsOf(a.Recent, "id", "author", "person", "direction", "class", "origin", "text", "forwarded_from", "taint", "count",
			"happened_at", "created_at"), nil
	}
	return nil, errNotAlong
}

// Exec changes nothing: what is read along only reads.
func (a *alongArg) Exec(string, ...any) (sql.Result, error) { return nil, errNotAlong }

// A ClaimedArg is a claimed turn as a function of PostgreSQL gives it.
type ClaimedArg struct {
	Turn, Session, Fence int64
	Person               string
	Data                 *alongArg
}

// Claimed is nil for none.
func (c *ClaimedArg) Claimed() *core.Claimed {
	if c == nil {
		return nil
	}
	ref := core.TurnRef{TurnID: c.Turn, SessionID: c.Session, Fence: c.Fence}
	return &core.Claimed{TurnRef: ref, Person: c.Person, Data: c.Data.load(ref)}
}
