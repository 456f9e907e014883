// Package turns has the rows of turns, with their plans, steps and model calls.
package turns

import "switchboard/store/database"

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

// New is the store of a database.
func New(db *database.DB) *Store { return &Store{db} }
