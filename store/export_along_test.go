package store

import (
	"strings"

	"switchboard/store/turns"
)

// AlongColumns and the others are what sb_load has to read, as load does.
func AlongColumns() string {
	_, rest, _ := strings.Cut(turns.Queries()["loadTurn"], "SELECT")
	columns, _, _ := strings.Cut(rest, "FROM turns t JOIN sessions")
	return columns
}

func AlongRecent() string   { return turns.Queries()["loadRecent"] }
func AlongMemories() string { return turns.Queries()["loadMemories"] }
