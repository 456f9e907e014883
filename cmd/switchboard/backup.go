package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/engine"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/secrets/vault"
	"switchboard/internal/words"
	"switchboard/store"
	"switchboard/store/backup"
	"switchboard/store/database"
)

// backupCmd writes the database and all files into one file.
type backupCmd struct {
	File    string `arg:"" help:"Where to; \"-\": standard output."`
	Force   bool   `help:"Replace the file if it is there."`
	WithKey bool   `help:"With the key of the secrets: whoever has the file can read them."`
	jsonFlag
}

// Run implements the command.
func (c *backupCmd) Run(a *app) error {
	settings, err := stored(a.unresolved())
	if err != nil {
		return err
	}
	source := backup.Source{Files: engine.Attachments(settings), Build: version()}
	if c.WithKey {
		path := filepath.Join(settings.DataDir, vault.KeyFile)
		if source.Key, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--with-key: %s is not there: no secret was set yet, or the key is in %s", path, vault.Variable)
		} else if err != nil {
			return fmt.Errorf("--with-key: %w", err)
		}
	}
	// The database is opened as it is, beside an engine or without one, on a full disk too.
	db, err := store.Open(a.ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if database.Unwritable(err) {
		db, err = live.Open(a.ctx, settings)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Cluster(a.ctx); err != nil { // else the files would be others
		return err
	}
	source.DB = db.DB
	said, done := a.progress()
	source.Said = said
	m, err := c.write(a, source)
	done()
	if err != nil {
		return err
	}
	out := a.out
	if c.File == "-" {
		out = a.err
	}
	if err := c.summary(out, m, "backed up"); err != nil {
		return err
	}
	key := filepath.Join(settings.DataDir, vault.KeyFile)
	if c.WithKey {
		fmt.Fprintln(a.err, "The key of the secrets is in it: whoever has the file can read them.")
	} else if _, err := os.Stat(key); err == nil && m.Count("secrets") > 0 {
		fmt.Fprintf(a.err, "The key of the secrets is not in it: keep a copy of %s as well, in another place.\n", key)
	}
	if err := a.saySeal(db); err != nil {
		return err
	}
	return a.missing(m)
}

// saySeal says what the audit log can be held to later, wherever that is kept. A database of an
// older build may have none.
func (a *app) saySeal(db *store.DB) error {
	seal, err := db.LastSeal(a.ctx)
	if errors.Is(err, database.ErrNotMigrated) {
		return nil
	}
	if err == nil && seal != nil {
		fmt.Fprintf(a.err, "The audit log can be held to this backup: switchboard audit verify --since %s\n", hex.EncodeToString(seal))
	}
	return err
}

// write gives the file its name when it is whole.
func (c *backupCmd) write(a *app, source backup.Source) (*backup.Manifest, error) {
	if c.File == "-" {
		if isTerminal(a.out) {
			return nil, configs.Usage(errors.New("a backup cannot be printed on a terminal; name a file, or send it to another program"))
		}
		return backup.Write(a.ctx, source, a.out)
	}
	if _, err := os.Lstat(c.File); err == nil && !c.Force {
		return nil, fmt.Errorf("%s is there already; name another file, or --force replaces it", c.File)
	}
	f, err := os.CreateTemp(filepath.Dir(c.File), filepath.Base(c.File)+".tmp-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	m, err := backup.Write(a.ctx, source, f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.File)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return nil, fmt.Errorf("%s was not written: %w", c.File, stopped(a.ctx, err))
	}
	return m, database.SyncFolder(filepath.Dir(c.File))
}

// restoreCmd fills an empty database from it.
type restoreCmd struct {
	File string `arg:"" help:"What \"backup\" wrote; \"-\": standard input."`
	jsonFlag
}

// Run implements the command.
func (c *restoreCmd) Run(a *app) error {
	settings, err := a.unresolved()
	if err == nil {
		err = settings.MakeDataDir()
	}
	if err != nil {
		return err
	}
	f, err := c.open(a, settings)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer f.Close()
	said, done := a.progress()
	m, err := backup.Restore(a.ctx, backup.Target{
		Config: settings.Store, DataDir: settings.DataDir, Schema: store.Schema, Files: engine.Attachments(settings),
		Log: slog.New(slog.DiscardHandler), Said: said,
	}, f)
	done()
	if err != nil {
		return fmt.Errorf("restore: %w", stopped(a.ctx, err))
	}
	what := "restored, every row compared"
	if m.Already {
		what = "restored already, by a run that was cut off once all was committed; every row compared"
	}
	if err := c.summary(a.out, m, what); err != nil {
		return err
	}
	key := filepath.Join(settings.DataDir, vault.KeyFile)
	given := slices.ContainsFunc(a.env, func(v string) bool { return strings.HasPrefix(v, vault.Variable+"=") })
	if _, err := os.Stat(key); err != nil && !given && m.Count("secrets") > 0 {
		fmt.Fprintf(a.err, "The key of the secrets was not in it: put it into %s or %s before the start, or set the secrets again.\n", key, vault.Variable)
	}
	_ = a.missing(m) // all that there is was restored
	return nil
}

// open opens the file. What comes from a pipe is kept beside the data until it was read to its end.
func (c *restoreCmd) open(a *app, settings *configs.Settings) (*os.File, error) {
	if c.File != "-" {
		return os.Open(c.File)
	}
	f, err := os.CreateTemp(settings.DataDir, ".restore-*") // mode 0600
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = io.Copy(f, a.in); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// stopped says of what was broken off that it was no success.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("it was stopped before it was whole")
	}
	return err
}

// progress shows on a terminal how far something is, on one line.
func (a *app) progress() (said backup.Progress, done func()) {
	if !isTerminal(a.err) {
		return func(string) {}, func() {}
	}
	var last time.Time
	return func(text string) {
		if time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			fmt.Fprintf(a.err, "\r\033[K%s", console.Printable(text))
		}
	}, func() { fmt.Fprint(a.err, "\r\033[K") }
}

// summary says what a backup holds; as JSON with the hash of each table's rows.
func (f jsonFlag) summary(w io.Writer, m *backup.Manifest, done string) error {
	if f.JSON {
		return printJSON(w, m)
	}
	_, err := fmt.Fprintf(w, "%s of %s and %s (%s): %s\n", words.Count(int(m.Rows()), "row"), words.Count(len(m.Tables), "table"),
		words.Count(m.Files, "file"), words.Size(m.Bytes), done)
	return err
}

// missing says that some bytes are lost, which is no reason to keep nothing, and is an error of a backup.
func (a *app) missing(m *backup.Manifest) error {
	n := len(m.Missing)
	if n == 0 {
		return nil
	}
	fmt.Fprintf(a.err, "%s could not be kept: their bytes were not in the data folder as it was backed up, or damaged there.\n", words.Count(n, "file"))
	return fmt.Errorf("the backup is written, and lacks the bytes of %s", words.Count(n, "file"))
}
