package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/router"
	"switchboard/store"
	"switchboard/store/database"
)

// deliveryCmd shows what went out.
type deliveryCmd struct {
	List  deliveryListCmd  `cmd:"" help:"The newest deliveries."`
	Retry deliveryRetryCmd `cmd:"" help:"Send a dead part again, with those that died with it; find out anew about an unknown one."`
	Drop  deliveryDropCmd  `cmd:"" help:"Give a part up that is pending, unknown or dead."`
}

type deliveryListCmd struct {
	State string `help:"Only deliveries in this state: draft, pending, sending, sent, unknown, dead or dropped." enum:",draft,pending,sending,sent,unknown,dead,dropped" default:""`
	Limit count  `default:"50" help:"At most so many."`
	JSON  bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *deliveryListCmd) Run(a *app) error {
	return list(a, "/deliveries?"+query(c.State, c.Limit), c.JSON, "ID\tSTATE\tOUTCOME\tTURN\tCHANNEL\tCONVERSATION\tTRIES\tWHEN\tTEXT", func(d router.DeliveryView) []any {
		turn := any("-") // of a command, say
		if d.TurnID != 0 {
			turn = d.TurnID
		}
		return []any{d.ID, d.State, d.Outcome, turn, d.Channel, d.Conversation, d.Tries, at(d.UpdatedAt), oneLine(d.Text, 40)}
	})
}

// personCmd shows who is let in.
type personCmd struct {
	List    personListCmd    `cmd:"" help:"Everybody the bot knows."`
	Refused personRefusedCmd `cmd:"" help:"Who wrote and was not served, and by which rule."`
	Add     later            `cmd:"" hidden:""`
	Role    later            `cmd:"" hidden:""`
	Link    later            `cmd:"" hidden:""`
	Remove  later            `cmd:"" hidden:""`
}

type personListCmd struct {
	JSON bool `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *personListCmd) Run(a *app) error {
	return list(a, "/people", c.JSON, "NAME\tROLE\tIDENTITIES\tTOOLS\tFROM", func(p router.Person) []any {
		return []any{p.Name, p.Role, strings.Join(p.Identities, ", "), strings.Join(p.Tools, ", "), p.Source}
	})
}

// migrateCmd looks after the schema.
type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema up to date (every engine does so when it starts)."`
	Status migrateStatusCmd `cmd:"" help:"Which migrations were applied."`
}

type migrateUpCmd struct{}

// Run implements the command.
func (migrateUpCmd) Run(a *app) error {
	return a.withDatabase(true, func(ctx context.Context, db *store.DB) error {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.out, "the schema is up to date")
		return nil
	})
}

type migrateStatusCmd struct {
	JSON bool `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *migrateStatusCmd) Run(a *app) error {
	return a.withDatabase(false, func(ctx context.Context, db *store.DB) error {
		list, err := db.MigrationStatus(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(a.out, list)
		}
		return table(a.out, "VERSION\tNAME\tAPPLIED", list, func(m database.MigrationStatus) []any {
			applied := "no"
			if m.Applied {
				applied = at(m.AppliedAt)
			}
			return []any{m.Version, m.Name, applied}
		})
	})
}

// withDatabase opens the database without becoming an engine; create makes it
// where there is none.
func (a *app) withDatabase(create bool, use func(ctx context.Context, db *store.DB) error) (err error) {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	if create {
		err = settings.MakeDataDir()
	} else {
		err = hasLedger(settings)
	}
	if err != nil {
		return err
	}
	db, err := store.Open(a.ctx, settings.Store, settings.DataDir, a.logger(settings))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(a.ctx, db)
}
