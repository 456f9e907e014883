package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqlite is a database in one file: a pool of readers, and one writer.
type sqlite struct {
	path string
	*readers
	*writer
}

// sqliteDSN names the file with the pragmas every connection needs; an Exec
// would reach one pooled connection only.
func sqliteDSN(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)",
		"temp_store(MEMORY)", "cache_size(-8000)",
	}, pragmas...)}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

func openSQLite(ctx context.Context, path string) (*sqlite, error) {
	if err := makeFile(path); err != nil {
		return nil, err
	}
	wdb, err := sqlx.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	wdb.SetMaxOpenConns(1)
	conn, err := wdb.Connx(ctx)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(Explain(err), wdb.Close()))
	}
	// The readers come after the writer, which turned the file to WAL.
	rdb, err := sqlx.Open("sqlite", sqliteDSN(path, "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, conn.Close(), wdb.Close()))
	}
	return &sqlite{path: path, readers: newReaders(rdb), writer: startWriter(wdb, conn, path)}, nil
}

// makeFile makes the folder and the file, for its owner's eyes alone.
func makeFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("database folder %s cannot be made: %w; set data_dir to a folder that can be written", dir, PathCause(err))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("database file %s cannot be written: %w; set data_dir or [store] url to a place that can", path, PathCause(err))
	}
	return f.Close()
}

// Remove removes a file; one that is not there is no error.
func Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// PathCause is the bare cause of a file error whose path was already said.
func PathCause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func (s *sqlite) close() error {
	if s.writer == nil { // opened to read
		return s.readers.close()
	}
	return errors.Join(s.stop(), s.readers.close())
}

// EmptyLog empties SQLite's write-ahead log, which may still hold what was overwritten
// in the database. It waits for readers under way.
func (db *DB) EmptyLog(ctx context.Context) error { return db.emptyLog(ctx) }

// ShrinkLog is EmptyLog that leaves it as it is where somebody reads: those who write do not wait.
func (db *DB) ShrinkLog(ctx context.Context) error { return db.emptyLog(ctx, "busy_timeout(100)") }

func (db *DB) emptyLog(ctx context.Context, pragmas ...string) error {
	if db.lite == nil {
		return nil
	}
	pool, err := sqlx.Open("sqlite", sqliteDSN(db.lite.path, pragmas...))
	if err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", err)
	}
	defer pool.Close()
	if _, err := pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", Explain(err))
	}
	return nil
}
