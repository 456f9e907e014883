package store

import "strings"

// AlongColumns and the others are what sb_load has to read, as load does.
func AlongColumns() string {
	_, rest, _ := strings.Cut(loadTurn, "SELECT")
	columns, _, _ := strings.Cut(rest, "FROM turns t JOIN sessions")
	return columns
}

func AlongRecent() string   { return loadRecent }
func AlongMemories() string { return loadMemories }
