package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/jmoiron/sqlx"
)

// errReadOnly is what a write to a database opened by OpenReadOnly returns.
var errReadOnly = errors.New("the database was opened for reading alone")

// OpenReadOnly is Open for who only reads, where nothing can be written: it makes no file
// and changes none. On SQLite it gives what the file and its log hold at that moment; an
// engine that works on them from elsewhere may have written more. Writes return an error.
func OpenReadOnly(ctx context.Context, cfg Config, dataDir string, schema *Schema, log *slog.Logger) (*DB, error) {
	path, err := cfg.File(dataDir)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return Open(ctx, cfg, dataDir, schema, log)
	}
	pool, err := openToRead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s to read: %w", path, Explain(err))
	}
	db := &DB{Log: log, DataDir: dataDir, Schema: schema, lite: &sqlite{path: path, readers: newReaders(pool)}, Now: time.Now}
	return db.known(ctx)
}

// openToRead tries the ways in which SQLite reads a file in WAL mode where nothing can be
// written; see https://sqlite.org/wal.html#readonly.
func openToRead(ctx context.Context, path string) (*sqlx.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, PathCause(err)
	}
	// As everybody else, with the shared memory that is there or can be made.
	ways := []url.Values{{"mode": {"ro"}}}
	if wal, err := os.Stat(path + "-wal"); err != nil || wal.Size() == 0 {
		ways = append(ways, url.Values{"mode": {"ro"}, "immutable": {"1"}}) // the file is all there is
	} else {
		// Who is alone keeps the index of the log in its own memory.
		ways = append(ways, url.Values{"mode": {"ro"}, "vfs": {"unix-none"}, "_pragma": {"locking_mode(EXCLUSIVE)"}})
	}
	var errs []error
	for _, q := range ways {
		q["_pragma"] = append(q["_pragma"], "busy_timeout(10000)", "query_only(1)", "temp_store(MEMORY)")
		u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
		pool, err := sqlx.Open("sqlite", u.String())
		if err != nil {
			return nil, err
		}
		var n int
		if err = pool.GetContext(ctx, &n, `SELECT count(*) FROM sqlite_master`); err == nil {
			return pool, nil
		}
		errs = append(errs, err, pool.Close())
	}
	return nil, errors.Join(errs...)
}
