// Package store is the single source of truth: what came in, turns and their steps,
// deliveries, files, people, and how long each is kept. The SQL of each feature lies in
// its folder; here they are opened, migrated and composed: a batch of what came in, a
// change with what follows from it, lists, and what is cleared away.
//
// It implements the small interfaces that router, agent and scheduler declare. Nobody
// imports it but cmd and tests.
package store

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/browsers"
	"switchboard/store/database"
	"switchboard/store/files"
	"switchboard/store/jobs"
	"switchboard/store/memory"
	"switchboard/store/money"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
	"switchboard/store/settings"
	"switchboard/store/tokens"
	"switchboard/store/turns"
)

// The features, each by its name.
type (
	approvalsStore = approvals.Store
	auditStore     = audit.Store
	browsersStore  = browsers.Store
	filesStore     = files.Store
	jobsStore      = jobs.Store
	memoryStore    = memory.Store
	moneyStore     = money.Store
	outboxStore    = outbox.Store
	peopleStore    = people.Store
	sessionsStore  = sessions.Store
	settingsStore  = settings.Store
	tokensStore    = tokens.Store
	turnsStore     = turns.Store
)

// features are the transactions of every feature.
type features struct {
	approvalsStore
	auditStore
	browsersStore
	filesStore
	jobsStore
	memoryStore
	moneyStore
	outboxStore
	peopleStore
	sessionsStore
	settingsStore
	tokensStore
	turnsStore
}

// DB is a database with the rows of every feature.
type DB struct {
	*database.DB
	features

	// astray: the log says that our clock is not the database's.
	astray atomic.Bool
	// audited is the number up to which all turns stand in the audit log.
	audits  sync.Mutex
	audited int64
	// sealStep is called by tests between the steps of the sealer; nil: it is not.
	sealStep func(step string) error
}

// Open is database.Open.
func Open(ctx context.Context, cfg database.Config, dataDir string, log *slog.Logger) (*DB, error) {
	return on(database.Open(ctx, cfg, dataDir, Schema, log))
}

// OpenReadOnly is database.OpenReadOnly.
func OpenReadOnly(ctx context.Context, cfg database.Config, dataDir string, log *slog.Logger) (*DB, error) {
	return on(database.OpenReadOnly(ctx, cfg, dataDir, Schema, log))
}

func on(base *database.DB, err error) (*DB, error) {
	if err != nil {
		return nil, err
	}
	return &DB{DB: base, features: features{
		approvalsStore{DB: base},
		auditStore{DB: base},
		browsersStore{DB: base},
		filesStore{DB: base},
		jobsStore{DB: base},
		*memory.New(base),
		moneyStore{DB: base},
		outboxStore{DB: base},
		peopleStore{DB: base},
		sessionsStore{DB: base},
		settingsStore{DB: base},
		tokensStore{DB: base},
		turnsStore{DB: base},
	}}, nil
}

// Router is the database as the router needs it. Its methods may be called from
// several goroutines at once.
type Router struct {
	features
	db *DB
}

// Router gives the router's view of the database.
func (db *DB) Router() *Router { return &Router{db.features, db} }
