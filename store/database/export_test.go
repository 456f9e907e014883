package database

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/lib/pq"
)

var ErrGuard = errGuard

// Dial has the pools of PostgreSQL dial through d from now on.
func (db *DB) Dial(ctx context.Context, d pq.Dialer) error {
	was := db.pg
	if err := db.openPostgres(ctx, was.url, d); err != nil {
		db.pg = was
		return err
	}
	was.close()
	return nil
}

// MigrateAlso migrates with one migration more.
func (db *DB) MigrateAlso(ctx context.Context, script string) error {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return err
	}
	return db.migrate(ctx, append(list, migration{9999, "extra", script}), db.Schema.Functions)
}

// Migrated says that exactly this build's migrations are applied.
func (db *DB) Migrated(ctx context.Context) bool {
	list, err := db.Schema.of(db.Kind())
	return err == nil && has(ctx, db, list)
}

// MigrateAgain runs a migration once more, on what is there.
func (db *DB) MigrateAgain(ctx context.Context, version int64) error {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(m migration) bool { return m.version == version })
	return db.migrate(ctx, append(list, migration{9999, "again", list[i].script}), db.Schema.Functions)
}

// MigrateWith migrates with other functions of PostgreSQL.
func (db *DB) MigrateWith(ctx context.Context, script string) error {
	list, err := db.Schema.of(db.Kind())
	if err != nil {
		return err
	}
	return db.migrate(ctx, list, script)
}

// Joining is how many joint calls are under way, Waiting how many transactions wait for them.
func (db *DB) Joining() int { n, _ := db.joints(); return n }

func (db *DB) Waiting() int { _, n := db.joints(); return n }

func (db *DB) joints() (under, queued int) {
	db.pg.mu.Lock()
	defer db.pg.mu.Unlock()
	for _, j := range db.pg.joints {
		j.mu.Lock()
		under, queued = under+j.under, queued+len(j.queue)
		j.mu.Unlock()
	}
	return under, queued
}

// Queued counts the transactions that wait for the SQLite writer.
func (db *DB) Queued() int { return len(db.lite.queue) + len(db.lite.results) }

// BreakSync makes every sync of the SQLite log fail until mend is called. Nobody may be
// writing.
func (db *DB) BreakSync() (mend func()) {
	f, _ := os.Open(os.DevNull)
	_ = f.Close()
	wal := &db.lite.wal
	was := wal.f
	wal.f = f
	return func() { wal.f = was }
}

// MarkStale marks all connections that there are.
func (db *DB) MarkStale() {
	now := time.Now()
	db.pg.dialer.since.Store(&now)
}

// Columns lists table.column of the schema.
func (db *DB) Columns(ctx context.Context) (list []string, err error) {
	query := `SELECT m.name || '.' || c.name AS c FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1`
	if db.PG() {
		query = `SELECT table_name || '.' || column_name AS c FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1`
	}
	err = db.Read(ctx, "columns", func(t *Tx) error {
		var rows []struct{ C string }
		if err := t.All(&rows, query); err != nil {
			return err
		}
		for _, r := range rows {
			list = append(list, r.C)
		}
		return nil
	})
	return list, err
}

// WriteFunc runs fn in one transaction.
func (db *DB) WriteFunc(ctx context.Context, mode Durability, fn func(exec func(string) error) error) error {
	return db.Write(ctx, mode, "test", func(t *Tx) error {
		return fn(func(s string) error {
			_, err := t.Exec(s)
			return err
		})
	})
}
