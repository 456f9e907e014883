package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// errReadOnly is what a write to a database opened by OpenReadOnly returns.
var errReadOnly = errors.New("the database was opened for reading alone")

// Unwritable says that err, of Open, StartEngine or what comes with them, is about a
// place that cannot be written: a folder or file system that is read-only, or full.
func Unwritable(err error) bool {
	if se, ok := errors.AsType[*driver.Error](err); ok {
		switch se.Code() & 0xff {
		case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM, sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR:
			return true
		}
	}
	return errors.Is(err, ErrFull) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// OpenReadOnly is Open for who only reads, where nothing can be written: it makes no file
// and changes none. On SQLite it gives what the file and its log hold at that moment; an
// engine that works on them from elsewhere may have written more. Writes return an error.
func OpenReadOnly(ctx context.Context, cfg Config, dataDir string, log *slog.Logger) (*DB, error) {
	address := cfg.URL.Reveal()
	path, lite := strings.CutPrefix(address, "sqlite:")
	switch {
	case address == "":
		path = filepath.Join(dataDir, "switchboard.db")
	case !lite:
		return Open(ctx, cfg, dataDir, log)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	pool, err := openToRead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s to read: %w", path, explain(err))
	}
	return &DB{log: log, now: time.Now, dataDir: dataDir, lite: &sqlite{path: path, readers: newReaders(pool)}}, nil
}

// openToRead tries the ways in which SQLite reads a file in WAL mode where nothing can be
// written; see https://sqlite.org/wal.html#readonly.
func openToRead(ctx context.Context, path string) (*sqlx.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, pathCause(err)
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
