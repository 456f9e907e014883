package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// errGuard is returned by Migrate when a migration left fewer rows in a table
// than it found. The migration was rolled back.
var errGuard = errors.New("the migration would lose rows")

// ErrNewer is returned by Migrate and StartEngine when a newer build has migrated the
// database. The error's text says what to do.
var ErrNewer = errors.New("the database belongs to a newer build")

// MigrationStatus is one migration of this build.
type MigrationStatus struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at"` // zero when it is not
}

// Migrate brings the schema to this build's version, and the functions of
// PostgreSQL to its text; a no-op when they are there. Several programs may call it
// at once on PostgreSQL: each migration is applied once. A migration that fails, or
// loses rows (errGuard), changes nothing and stops those behind it. A database that
// is not the data folder's is left as it is (ErrCluster), and so is one that a newer
// build has migrated (ErrNewer).
func (db *DB) Migrate(ctx context.Context) error {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return err
	}
	return db.migrate(ctx, list, db.Schema.Functions)
}

// MigrateTo brings an empty database to the schema of an older build, for what that one
// wrote; Migrate does the rest.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return err
	}
	return db.migrate(ctx, slices.DeleteFunc(list, func(m migration) bool { return m.version > version }), "")
}

func (db *DB) migrate(ctx context.Context, list []migration, script string) error {
	if err := db.mayMigrate(ctx); err != nil {
		return err
	}
	if !db.PG() && has(ctx, db, list) {
		return nil
	}
	m, err := newMigrator(db, list, script)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer m.own.Close()
	if done, err := m.done(ctx); done || err != nil {
		return err
	}
	if db.PG() {
		// Several programs on one schema take turns; schemas do not wait for each other.
		// The lock ends with its connection, and that with own.
		conn, err := lockMigrations(ctx, m.own)
		if err != nil {
			return failed("migrate", err)
		}
		defer conn.Close()
		if done, err := m.done(ctx); done || err != nil {
			return err
		}
	}
	applied, err := m.Up(ctx)
	for _, r := range applied {
		db.Log.InfoContext(ctx, "migrated", "version", r.Source.Version, "duration", r.Duration.Round(time.Millisecond))
	}
	if err != nil {
		if pe, ok := errors.AsType[*goose.PartialError](err); ok {
			return fmt.Errorf("migration %d: %w", pe.Failed.Source.Version, explainMigration(pe.Err))
		}
		return failed("migrate", err)
	}
	if db.PG() && script != "" {
		return explainMigration(replaceFunctions(ctx, m.own, script))
	}
	return nil
}

// has says that these migrations are applied and no others, without a connection of its own, which costs a start
// more than a millisecond.
func has(ctx context.Context, db *DB, list []migration) bool {
	applied, err := Read(ctx, db, "look which migrations are applied", func(t *Tx) ([]int64, error) {
		return t.IDs(`SELECT version_id AS id FROM goose_db_version WHERE version_id > 0 AND is_applied ORDER BY version_id`)
	})
	return err == nil && slices.EqualFunc(applied, list, func(version int64, m migration) bool { return version == m.version })
}

// A migrator applies migrations over connections of its own.
type migrator struct {
	*goose.Provider
	own    *sqlx.DB // its user closes it
	script string   // of the functions of PostgreSQL; empty: there are none
	fresh  bool     // no migration was applied before: there are no rows to lose
}

// done says that nothing is to be done. ErrNewer: nothing may be.
func (m *migrator) done(ctx context.Context) (bool, error) {
	has, brings, err := m.GetVersions(ctx)
	m.fresh = has == 0
	switch {
	case err != nil:
		return false, failed("migrate", err)
	case has > brings:
		return false, fmt.Errorf("%w: its schema has number %d, this build knows up to %d; start the newer build again, or restore a backup made by this one",
			ErrNewer, has, brings)
	}
	pending, err := m.HasPending(ctx)
	done := !pending
	if done && err == nil && m.own.DriverName() == "postgres" && m.script != "" {
		done, err = hasFunctions(ctx, m.own, m.script)
	}
	return done && err == nil, failed("migrate", err)
}

// lockMigrations takes the right to migrate; the connection keeps it.
func lockMigrations(ctx context.Context, own *sqlx.DB) (*sqlx.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	conn, err := own.Connx(ctx)
	if err != nil {
		return nil, err
	}
	var schema string
	if err = conn.GetContext(ctx, &schema, `SELECT coalesce(current_schema(), '')`); err == nil {
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(crc32.ChecksumIEEE([]byte("switchboard:"+schema))))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// explainMigration keeps the database's own words: the reader is an operator, and
// a migration's fault is a fault of its text.
func explainMigration(err error) error {
	if errors.Is(Explain(err), ErrFull) || errors.Is(Explain(err), ErrUnavailable) {
		return Explain(err)
	}
	return err
}

// MigrationStatus lists the migrations of this build, in order.
func (db *DB) MigrationStatus(ctx context.Context) ([]MigrationStatus, error) {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return nil, err
	}
	m, err := newMigrator(db, list, "")
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	defer m.own.Close()
	states, err := m.Status(ctx)
	if err != nil {
		return nil, failed("migration status", err)
	}
	out := make([]MigrationStatus, len(states))
	for i, s := range states {
		out[i] = MigrationStatus{
			Version: s.Source.Version, Name: list[i].name,
			Applied: s.State == goose.StateApplied, AppliedAt: s.AppliedAt.UTC(),
		}
		if !out[i].Applied {
			out[i].AppliedAt = time.Time{}
		}
	}
	return out, nil
}

// migrationSize is how many connections migrations may take: one has their lock all the time.
const migrationSize = 4

func newMigrator(db *DB, list []migration, script string) (m *migrator, err error) {
	m = &migrator{script: script}
	var steps []*goose.Migration
	for _, each := range list {
		steps = append(steps, goose.NewGoMigration(each.version, &goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error {
			return m.guarded(ctx, t, db.Kind(), each.script)
		}}, nil))
	}
	dialect := goose.DialectPostgres
	if db.PG() {
		// A migration may take longer than the server may be silent otherwise.
		m.own, err = postgresPool(db.pg.url, "on", migrationSize, &patientDialer{})
	} else {
		dialect = goose.DialectSQLite3
		if m.own, err = sqlx.Open("sqlite", sqliteDSN(db.lite.path, "synchronous(FULL)")+"&_txlock=immediate"); err == nil {
			m.own.SetMaxOpenConns(1)
		}
	}
	if err != nil {
		return nil, err
	}
	m.Provider, err = goose.NewProvider(dialect, m.own.DB, nil, goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.Log), goose.WithGoMigrations(steps...))
	if err != nil {
		return nil, errors.Join(err, m.own.Close())
	}
	return m, nil
}

// guarded runs a script and compares the rows of every table before and after.
func (m *migrator) guarded(ctx context.Context, t *sql.Tx, kind, script string) (err error) {
	var before map[string]int64
	if !m.fresh {
		if before, err = countRows(ctx, t, kind); err != nil {
			return err
		}
	}
	if _, err := t.ExecContext(ctx, script); err != nil {
		return err
	}
	maps.DeleteFunc(before, func(_ string, n int64) bool { return n == 0 })
	if len(before) == 0 {
		return nil
	}
	after, err := countRows(ctx, t, kind)
	if err != nil {
		return err
	}
	for table, n := range before {
		// A table that is gone has none: a migration may drop empty ones only.
		if after[table] < n {
			return fmt.Errorf("%w: table %s has %d rows and would have %d; nothing was changed", errGuard, table, n, after[table])
		}
	}
	return nil
}

const (
	tablesSQLite   = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	tablesPostgres = `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
)

func countRows(ctx context.Context, t *sql.Tx, kind string) (map[string]int64, error) {
	tx := &Tx{Q: sqlTx{&sqlx.Tx{Tx: t}, ctx}, PG: kind == "postgres"}
	names, err := tx.Names(tx.Either(tablesSQLite, tablesPostgres))
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, name := range names {
		var n int64
		if _, err := tx.Row(`SELECT count(*) FROM "`+name+`"`, nil, &n); err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, nil
}
