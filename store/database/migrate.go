package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// The migrations: a folder a dialect, NUMBER_name.sql, in order. A released file
// is never edited. Each runs in one transaction, as one script.
//
//go:embed migrations
var migrationFiles embed.FS

// errGuard is returned by Migrate when a migration left fewer rows in a table
// than it found. The migration was rolled back.
var errGuard = errors.New("the migration would lose rows")

// ErrNewer is returned by Migrate and StartEngine when a newer build has migrated the
// database. The error's text says what to do.
var ErrNewer = errors.New("the database belongs to a newer build")

// migration is one step of the schema.
type migration struct {
	version int64
	name    string
	script  string
}

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
	list, err := db.migrations()
	if err != nil {
		return err
	}
	return db.migrate(ctx, list, functions)
}

// MigrateTo brings an empty database to the schema of an older build, for what that one
// wrote; Migrate does the rest.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	list, err := db.migrations()
	if err != nil {
		return err
	}
	return db.migrate(ctx, slices.DeleteFunc(list, func(m migration) bool { return m.version > version }), "")
}

// Newest is the number of the newest migration of this build, of either dialect.
func Newest() (newest int64, err error) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		list, err := migrationsOf(dialect)
		if err != nil {
			return 0, err
		}
		newest = max(newest, list[len(list)-1].version)
	}
	return newest, nil
}

func (db *DB) migrate(ctx context.Context, list []migration, script string) error {
	if err := db.mayMigrate(ctx); err != nil {
		return err
	}
	if !db.PG() && db.has(ctx, list) {
		return nil
	}
	p, own, err := db.provider(list)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer own.Close()
	if done, err := db.migrated(ctx, p, own, script); done || err != nil {
		return err
	}
	if db.PG() {
		// Several programs on one schema take turns; schemas do not wait for each other.
		// The lock ends with its connection, and that with own.
		conn, err := lockMigrations(ctx, own)
		if err != nil {
			return fmt.Errorf("migrate: %w", Explain(err))
		}
		defer conn.Close()
		if done, err := db.migrated(ctx, p, own, script); done || err != nil {
			return err
		}
	}
	applied, err := p.Up(ctx)
	for _, r := range applied {
		db.log.InfoContext(ctx, "migrated", "version", r.Source.Version, "duration", r.Duration.Round(time.Millisecond))
	}
	if err != nil {
		if pe, ok := errors.AsType[*goose.PartialError](err); ok {
			return fmt.Errorf("migration %d: %w", pe.Failed.Source.Version, explainMigration(pe.Err))
		}
		return fmt.Errorf("migrate: %w", Explain(err))
	}
	if db.PG() && script != "" {
		return explainMigration(replaceFunctions(ctx, own, script))
	}
	return nil
}

// has says that these migrations are applied and no others, without a connection of its own, which costs a start
// more than a millisecond.
func (db *DB) has(ctx context.Context, list []migration) bool {
	var applied []int64
	err := db.Read(ctx, "look which migrations are applied", func(t *Tx) (err error) {
		applied, err = t.IDs(`SELECT version_id AS id FROM goose_db_version WHERE version_id > 0 AND is_applied ORDER BY version_id`)
		return err
	})
	return err == nil && slices.EqualFunc(applied, list, func(version int64, m migration) bool { return version == m.version })
}

// migrated says that nothing is to be done. ErrNewer: nothing may be.
func (db *DB) migrated(ctx context.Context, p *goose.Provider, own *sqlx.DB, script string) (bool, error) {
	has, brings, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return false, fmt.Errorf("migrate: %w", Explain(err))
	case has > brings:
		return false, fmt.Errorf("%w: its schema has number %d, this build knows up to %d; start the newer build again, or restore a backup made by this one",
			ErrNewer, has, brings)
	}
	pending, err := p.HasPending(ctx)
	done := !pending
	if done && err == nil && db.PG() && script != "" {
		done, err = hasFunctions(ctx, own, script)
	}
	if err != nil {
		return false, fmt.Errorf("migrate: %w", Explain(err))
	}
	return done, nil
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
	list, err := db.migrations()
	if err != nil {
		return nil, err
	}
	p, own, err := db.provider(list)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	defer own.Close()
	states, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", Explain(err))
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

func (db *DB) migrations() ([]migration, error) { return migrationsOf(db.Kind()) }

func migrationsOf(dialect string) ([]migration, error) {
	dir := path.Join("migrations", dialect)
	files, err := fs.ReadDir(migrationFiles, dir)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	var list []migration
	for _, f := range files {
		number, name, ok := strings.Cut(strings.TrimSuffix(f.Name(), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("migrations: %s has no number", f.Name())
		}
		script, err := fs.ReadFile(migrationFiles, path.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		list = append(list, migration{version, name, string(script)})
	}
	return list, nil
}

// migrationSize is how many connections migrations may take: one has their lock all the time.
const migrationSize = 4

// provider runs migrations on connections of its own, which the caller closes.
func (db *DB) provider(list []migration) (p *goose.Provider, own *sqlx.DB, err error) {
	var steps []*goose.Migration
	for _, m := range list {
		steps = append(steps, goose.NewGoMigration(m.version, &goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error {
			return guarded(ctx, t, db.Kind(), m.script)
		}}, nil))
	}
	dialect := goose.DialectPostgres
	if db.PG() {
		// A migration may take longer than the server may be silent otherwise.
		own, err = postgresPool(db.pg.url, "on", migrationSize, &patientDialer{})
	} else {
		dialect = goose.DialectSQLite3
		if own, err = sqlx.Open("sqlite", sqliteDSN(db.lite.path, "synchronous(FULL)")+"&_txlock=immediate"); err == nil {
			own.SetMaxOpenConns(1)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	p, err = goose.NewProvider(dialect, own.DB, nil, goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.log), goose.WithGoMigrations(steps...))
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return p, own, nil
}

// guarded runs a script and compares the rows of every table before and after.
func guarded(ctx context.Context, t *sql.Tx, kind, script string) error {
	before, err := countRows(ctx, t, kind)
	if err != nil {
		return err
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
	tablesPostgres = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
)

func countRows(ctx context.Context, t *sql.Tx, kind string) (map[string]int64, error) {
	query := tablesSQLite
	if kind == "postgres" {
		query = tablesPostgres
	}
	rows, err := t.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[string]int64{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		counts[name] = 0
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for name := range counts {
		var n int64
		if err := t.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n); err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, nil
}
