package main

import (
	"context"
	"errors"
	"fmt"

	"switchboard/cmd/switchboard/logs"
	"switchboard/configs"
	"switchboard/internal/words"
	"switchboard/store"
	"switchboard/store/database"
)

// migrateCmd looks after the schema.
type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema up to date (every engine does so when it starts)."`
	Status migrateStatusCmd `cmd:"" help:"Which migrations were applied."`
}

type migrateUpCmd struct{}

// Run implements the command.
func (migrateUpCmd) Run(a *app, settings *configs.Settings) error {
	return a.withDatabase(settings, true, func(ctx context.Context, db *store.DB) error {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.out, "the schema is up to date")
		return nil
	})
}

type migrateStatusCmd struct{ jsonFlag }

// Run implements the command.
func (c *migrateStatusCmd) Run(a *app, settings *configs.Settings) error {
	return a.withDatabase(settings, false, func(ctx context.Context, db *store.DB) error {
		list, err := db.MigrationStatus(ctx)
		if err != nil {
			return err
		}
		return printRows(a.out, c.JSON, "VERSION\tNAME\tAPPLIED", list, func(m database.MigrationStatus) []any {
			applied := "no"
			if m.Applied {
				applied = words.At(m.AppliedAt)
			}
			return []any{m.Version, m.Name, applied}
		})
	})
}

// withDatabase opens the database without becoming an engine; create makes it
// where there is none.
func (a *app) withDatabase(settings *configs.Settings, create bool, use func(ctx context.Context, db *store.DB) error) (err error) {
	if create {
		err = settings.MakeDataDir()
	} else {
		err = settings.Stored()
	}
	if err != nil {
		return err
	}
	db, err := store.Open(a.ctx, settings.Store, settings.DataDir, logs.New(a.err, isTerminal(a.err), settings))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(a.ctx, db)
}
