package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// The migrations: a folder a dialect, NUMBER_name.sql, in order. A released file
// is never edited. Each runs in one transaction, as one script.
//
//go:embed migrations
var migrationFiles embed.FS

// errGuard is returned by Migrate when a migration left fewer rows in a table
// than it found. The migration was rolled back.
var errGuard = errors.New("the migration would lose rows")

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

// Migrate brings the schema to this build's version; a no-op when it is there.
// Several programs may call it at once on PostgreSQL: each migration is applied
// once. A migration that fails, or loses rows (errGuard), changes nothing and
// stops those behind it. A database that is not the data folder's is left as it is
// (ErrCluster).
func (db *DB) Migrate(ctx context.Context) error {
	list, err := db.migrations()
	if err != nil {
		return err
	}
	return db.migrate(ctx, list)
}

func (db *DB) migrate(ctx context.Context, list []migration) error {
	if err := db.mayMigrate(ctx); err != nil {
		return err
	}
	p, done, err := db.provider(ctx, list)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer done()
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
	return nil
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
	p, done, err := db.provider(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	defer done()
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

func (db *DB) migrations() ([]migration, error) {
	dir := path.Join("migrations", db.Kind())
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

// provider runs migrations on connections of its own; done closes them.
func (db *DB) provider(ctx context.Context, list []migration) (p *goose.Provider, done func(), err error) {
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.log)}
	var steps []*goose.Migration
	for _, m := range list {
		steps = append(steps, goose.NewGoMigration(m.version, &goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error {
			return guarded(ctx, t, db.Kind(), m.script)
		}}, nil))
	}
	opts = append(opts, goose.WithGoMigrations(steps...))
	if db.pg != nil {
		// Several programs on one schema take turns; schemas do not wait for each other.
		var schema string
		if err := db.pg.durable.GetContext(ctx, &schema, `SELECT coalesce(current_schema(), '')`); err != nil {
			return nil, nil, Explain(err)
		}
		id := int64(crc32.ChecksumIEEE([]byte("switchboard:" + schema)))
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(id), lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, nil, err
		}
		// A migration may take longer than the server may be silent otherwise.
		own, err := postgresPool(db.pg.url, "on", &patientDialer{})
		if err != nil {
			return nil, nil, err
		}
		p, err = goose.NewProvider(goose.DialectPostgres, own.DB, nil, append(opts, goose.WithSessionLocker(locker))...)
		return p, func() { _ = own.Close() }, err
	}
	own, err := sql.Open("sqlite", sqliteDSN(db.lite.path, "synchronous(FULL)")+"&_txlock=immediate")
	if err != nil {
		return nil, nil, err
	}
	own.SetMaxOpenConns(1)
	p, err = goose.NewProvider(goose.DialectSQLite3, own, nil, opts...)
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return p, func() { _ = own.Close() }, nil
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
