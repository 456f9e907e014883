package storetest

import (
	"context"
	"testing"

	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/blobs"
	"switchboard/store/engines"
)

// A DB is a store, for tests of packages that may not import it.
type DB = store.DB

// An Engine is an owner in a store, for tests of packages that may not import it.
type Engine = engines.Engine

// StartEngine starts an engine, which the caller runs and closes.
func StartEngine(ctx context.Context, db *DB) (*Engine, error) {
	return engines.Start(ctx, db.DB, false)
}

// Wakes are those of a store, by the engine's id.
func Wakes(db *DB) func(owner int64) core.Wakes {
	return func(owner int64) core.Wakes { return engines.NewWakes(db.DB, owner) }
}

// Blobs is an empty folder for the bytes of files.
func Blobs(t testing.TB) *blobs.Dir { return blobs.New(t.TempDir()) }
