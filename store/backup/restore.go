package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/store/blobs"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// ErrNotEmpty is returned by Restore where something is already. Nothing was changed. The
// error's text says what to do.
var ErrNotEmpty = errors.New("a backup is restored into an empty database only")

// A Target is what is restored into.
type Target struct {
	Config  database.Config
	DataDir string
	Schema  *database.Schema
	Files   *blobs.Dir
	Log     *slog.Logger
	Said    Progress
}

// Restore fills an empty database from a file that Write made. Until it is whole there is
// nothing of it, whatever happens: on PostgreSQL it is one transaction, on SQLite a file that
// gets its name at the end. Bytes of attachments and the key, which nothing names before, come
// first, so that what is committed is complete: where a database has just what the file has, and
// no engine was ever on it, that is said (Manifest.Already) in place of ErrNotEmpty.
func Restore(ctx context.Context, t Target, file *os.File) (*Manifest, error) {
	t.Said("reading the file")
	r, err := open(file)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var h head
	if err := r.json(entryHead, &h); err != nil {
		return nil, err
	}
	newest, err := t.Schema.Newest()
	switch {
	case err != nil:
		return nil, err
	case h.Schema > newest:
		return nil, fmt.Errorf("%w (its schema has number %d, this build knows up to %d)", ErrNewer, h.Schema, newest)
	}
	release, err := t.Files.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	key, err := readKey(r, &h, filepath.Join(t.DataDir, vault.KeyFile))
	if err != nil {
		return nil, err
	}
	path, err := t.Config.File(t.DataDir)
	if err != nil {
		return nil, err
	}
	l := &loading{Target: t, r: r, head: &h, key: key}
	if path != "" {
		err = l.intoFile(ctx, path)
	} else {
		err = l.fill(ctx, t.Config, t.DataDir)
	}
	if err != nil && (path != "" || l.made == nil) { // else it is committed
		err = errors.Join(err, key.forget())
	}
	if err != nil {
		return nil, err
	}
	return l.made, nil
}

// A loading is one restore.
type loading struct {
	Target
	r    *reader
	head *head
	key  *keyFile
	made *Manifest
}

func (l *loading) intoFile(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("database folder: %w", err)
	}
	release, err := engines.Alone(path)
	if err != nil {
		return err
	}
	defer release()
	for _, end := range []string{"", "-wal", "-journal"} {
		if _, err := os.Lstat(path + end); !errors.Is(err, fs.ErrNotExist) {
			if end == "" {
				if done, err := l.restored(ctx); done || err != nil {
					return err
				}
			}
			return fmt.Errorf("%w: %s is there already; move it away, with the files %s-wal and -shm if they are there, or name another in [store] url", ErrNotEmpty, path+end, path)
		}
	}
	part := path + ".restoring"
	discard := func() error {
		return errors.Join(database.Remove(part), database.Remove(part+"-wal"), database.Remove(part+"-shm"))
	}
	if err := discard(); err != nil { // what a killed one left
		return err
	}
	if err := l.fill(ctx, database.Config{URL: secrets.Secret("sqlite:" + part)}, ""); err != nil {
		return errors.Join(err, discard())
	}
	if _, err := os.Lstat(part + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the restored database could not be closed whole: %w", errors.Join(err, discard()))
	}
	f, err := os.Open(part)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = errors.Join(os.Rename(part, path), database.SyncFolder(filepath.Dir(path)))
	}
	if err != nil {
		return fmt.Errorf("name the restored database: %w", errors.Join(err, discard()))
	}
	return nil
}

// fill fills a database in one transaction and brings it to this build's schema.
func (l *loading) fill(ctx context.Context, cfg database.Config, dataDir string) error {
	db, err := database.Open(ctx, cfg, dataDir, l.Schema, l.Log)
	if err != nil {
		return err
	}
	err = db.Read(ctx, "look into the database", func(t *database.Tx) error {
		if err := empty(t); err != nil {
			return err
		}
		return l.fits(t)
	})
	var made Manifest
	switch {
	case err == nil:
		if err = db.MigrateTo(ctx, l.head.Schema); err == nil {
			err = db.Load(ctx, "restore", func(t *database.Loading) error { return l.load(ctx, t, &made) })
		}
	case errors.Is(err, ErrNotEmpty):
		if same, other := l.same(ctx, db, &made); other != nil {
			return errors.Join(other, db.Close())
		} else if same {
			err = nil
		}
	}
	if err == nil {
		l.made = &made
		l.Said("schema")
		err = db.Migrate(ctx)
	}
	return errors.Join(err, db.Close())
}

// empty refuses a database that has rows of ours, engines' included.
func empty(t *database.Tx) error {
	names, err := ours(t)
	if err != nil {
		return err
	}
	return none(t, names)
}

// none refuses a database that has rows in one of these tables.
func none(t *database.Tx, names []string) error {
	for _, name := range names {
		switch found, err := t.Has(`SELECT 1 FROM "` + name + `" LIMIT 1`); {
		case err != nil:
			return err
		case found:
			return fmt.Errorf("%w: table %s of the one in [store] url has rows; make a new one (createdb NAME) and name it there", ErrNotEmpty, name)
		}
	}
	return nil
}

// fits refuses a database that was migrated further than the backup.
func (l *loading) fits(t *database.Tx) error {
	names, err := present(t)
	if err != nil || !slices.Contains(names, "goose_db_version") {
		return err
	}
	var has int64
	if _, err := t.Row(readSchema, nil, &has); err == nil && has > l.head.Schema {
		return fmt.Errorf("%w: the schema of the one in [store] url has number %d already, the backup's is %d; make a new one (createdb NAME) and name it there",
			ErrNotEmpty, has, l.head.Schema)
	}
	return err
}

// byItself are the tables that get rows with the schema, and of the rows of others.
var byItself = []string{"goose_db_version", "memory_log", "memory_wal"}

// ours are the tables that the database has of an engine's.
func ours(t *database.Tx) ([]string, error) {
	names, err := present(t)
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(byItself, name) || tableNamed(name) == nil && !slices.Contains(left, name)
	}), err
}

// lock makes engines and other restores that come now wait, and then find it filled.
func lock(t *database.Tx) error {
	names, err := ours(t)
	if err != nil || !t.PG {
		return err
	}
	for _, name := range names {
		if err := t.Do(`LOCK TABLE "` + name + `" IN EXCLUSIVE MODE`); err != nil {
			return err
		}
	}
	return nil
}

// load fills all tables and compares them with what was written.
func (l *loading) load(ctx context.Context, t *database.Loading, m *Manifest) error {
	if err := errors.Join(lock(t.Tx), empty(t.Tx)); err != nil {
		return err
	}
	letter, err := l.r.next()
	for err == nil && letter == entryTable {
		letter, err = l.table(t)
	}
	for n := 0; err == nil && letter == entryFile; n++ {
		l.Said(fmt.Sprintf("files: %d", n))
		if err = errors.Join(ctx.Err(), l.file(ctx)); err == nil {
			letter, err = l.r.next()
		}
	}
	if err != nil {
		return err
	}
	if letter != entryManifest {
		return errGarbled
	}
	if err := l.r.decode(m); err != nil {
		return err
	}
	if err := compare(t.Tx, m, nil, l.Said); err != nil {
		return err
	}
	if err := l.draw(t.Tx); err != nil {
		return err
	}
	return l.placeKey()
}

func (l *loading) placeKey() error {
	if err := l.key.place(); err != nil {
		return fmt.Errorf("key of the secrets: %w", err)
	}
	return nil
}

// table fills a table and returns the letter of the entry after its rows.
func (l *loading) table(t *database.Loading) (letter byte, err error) {
	var h tableHead
	if err := l.r.decode(&h); err != nil {
		return 0, err
	}
	tb := tableNamed(h.Name)
	if tb == nil {
		return 0, fmt.Errorf("%w (it has a table %s)", ErrNewer, h.Name)
	}
	columns, err := tb.columns(t.Tx)
	if err != nil {
		return 0, err
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	if !slices.EqualFunc(columns, h.Columns, func(a, b column) bool { return a.Name == b.Name && a.Kind == b.Kind }) {
		return 0, fmt.Errorf("table %s has other columns than in the backup, which another program must have changed: %v and %v", h.Name, columns, h.Columns)
	}
	values, n := make([]any, len(columns)), 0
	err = t.Into(h.Name, names, func(put func(...any) error) (err error) {
		for letter, err = l.r.next(); err == nil && letter == entryRow; letter, err = l.r.next() {
			if n%1000 == 0 {
				l.Said(fmt.Sprintf("%s: %d rows", h.Name, n))
			}
			n++
			row, err := l.r.body()
			if err == nil {
				err = readRow(row, columns, values)
			}
			if err == nil {
				err = put(values...)
			}
			if err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", h.Name, err)
	}
	return letter, nil
}

// file writes the bytes of an attachment, which are under their hash again.
func (l *loading) file(ctx context.Context) error {
	name := make([]byte, 2*sha256.Size)
	if _, err := io.ReadFull(l.r, name); err != nil {
		return err
	}
	got, _, err := l.Files.Put(ctx, 0, func(w io.Writer) error {
		_, err := io.Copy(w, l.r)
		return err
	})
	if err == nil && got != string(name) {
		err = errGarbled
	}
	return err
}

const (
	setDrawn         = `UPDATE sqlite_sequence SET seq = ? WHERE name = ?`
	addDrawn         = `INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)`
	setDrawnPostgres = `SELECT setval(CAST(pg_get_serial_sequence(?, 'id') AS regclass), ?)`
)

// draw has new rows get higher numbers than any had that there were.
func (l *loading) draw(t *database.Tx) error {
	for name, last := range l.head.Sequences {
		if !slices.Contains(numbered(), name) {
			return errGarbled
		}
		if err := setLast(t, name, last); err != nil {
			return err
		}
	}
	return nil
}

func setLast(t *database.Tx, name string, last int64) error {
	if t.PG {
		_, err := t.Row(setDrawnPostgres, []any{name, last}, new(int64))
		return err
	}
	n, err := t.Exec(setDrawn, last, name)
	if err == nil && n == 0 {
		err = t.Do(addDrawn, last, name)
	}
	return err
}
