package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A Schema is what is known of the rows by who opens the database.
type Schema struct {
	Migrations fs.FS             // a folder a dialect, with NUMBER_name.sql in order
	Functions  string            // the script of PostgreSQL's functions
	Early      map[string]string // by the kind of database, a query that finds a row in one that no migration fits
	// Raced says that PostgreSQL refused a transaction only because another did the same at once.
	Raced func(code, table, column string) bool
}

// migration is one step of the schema.
type migration struct {
	version int64
	name    string
	script  string
}

// Newest is the number of the newest migration, of either dialect.
func (s *Schema) Newest() (newest int64, err error) {
	for _, kind := range []string{"sqlite", "postgres"} {
		list, err := s.of(kind)
		if err != nil {
			return 0, err
		}
		newest = max(newest, list[len(list)-1].version)
	}
	return newest, nil
}

// of are the migrations of a kind of database.
func (s *Schema) of(kind string) (list []migration, err error) {
	files, err := fs.ReadDir(s.Migrations, kind)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	for _, f := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migrations: %s has no number", f.Name())
		}
		script, err := fs.ReadFile(s.Migrations, path.Join(kind, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		list = append(list, migration{version, name, string(script)})
	}
	return list, nil
}

// ErrEarly is returned by Open and OpenReadOnly for a database of a build from before the first
// migration got its last form: no migration fits its tables. Nothing in it was changed. The error's text
// says what to do.
var ErrEarly = errors.New("the database was made by an early build (before 23 November 2026), whose tables no later one carries over; it was left as it is")

// known is the database, unless no migration fits its tables: then it is closed.
func (db *DB) known(ctx context.Context) (*DB, error) {
	early, err := db.ReadRow(ctx, "look which build made the database", db.Schema.Early[db.Kind()], nil)
	switch {
	case err == nil && !early:
		return db, nil
	case early && db.PG():
		err = fmt.Errorf("%w: make a new one (createdb NAME), name it in [store] url, and give it an empty data_dir", ErrEarly)
	case early:
		err = fmt.Errorf("%w: move %s away, with the files %[2]s-wal and -shm if they are there, or name another in [store] url", ErrEarly, db.lite.path)
	}
	return nil, errors.Join(err, db.Close())
}
