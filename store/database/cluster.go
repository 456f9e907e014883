package database

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrCluster is returned by StartEngine and Migrate when the data folder is not the one that
// belongs to the database; on SQLite when it belongs to one on PostgreSQL. The error's text says
// what to do.
var ErrCluster = errors.New("the data folder and the database do not belong together")

const (
	readCluster   = `SELECT id FROM cluster`
	insertCluster = `INSERT INTO cluster (one, id, created_at) VALUES (TRUE, ?, ?) ON CONFLICT (one) DO NOTHING`
)

// A cluster is a database and the folder of its engines, which share a name.
type cluster struct {
	db   *DB
	path string // of the file with the folder's name
}

// cluster is nil where there is nothing to compare: on SQLite, or without a folder.
func (db *DB) cluster() *cluster {
	if db.DataDir == "" || db.pg == nil {
		return nil
	}
	return &cluster{db, filepath.Join(db.DataDir, "cluster")}
}

// JoinCluster makes sure that every engine on the database has the same data
// folder: sessions are rows, but their workspaces and files are in the folder. The
// first engine gives both the same name, in the row first meant and then written:
// a start that is cut off between leaves the folder with a file that says which
// name it was about to have.
func (db *DB) JoinCluster(ctx context.Context) error {
	c := db.cluster()
	if c == nil {
		return nil
	}
	folder, err := readName(c.path)
	if err != nil {
		return err
	}
	row, err := c.row(ctx)
	if err != nil {
		return err
	}
	if row == "" && folder == "" {
		if row, folder, err = c.found(ctx); err != nil {
			return err
		}
	} else if folder == "" {
		// The start that made the row may have been this folder's.
		if folder, err = adopt(c.path, row); err != nil {
			return err
		}
	}
	return c.belong(row, folder)
}

// Cluster is the name that the database and its data folder share; empty: they have
// none yet (the first start gives it), or on SQLite need none. ErrCluster: they do not
// belong together. Nothing is changed.
func (db *DB) Cluster(ctx context.Context) (string, error) {
	c := db.cluster()
	if c == nil {
		return "", nil
	}
	folder, err := readName(c.path)
	if err != nil {
		return "", err
	}
	row, err := c.row(ctx)
	if err == nil && row != folder {
		err = fmt.Errorf("%w: the database is %s, and the data folder %s is %s", ErrCluster, cmp.Or(row, "without a name"), db.DataDir, cmp.Or(folder, "without a name"))
	}
	if err != nil {
		return "", err
	}
	return row, nil
}

// mayMigrate refuses a database that is not the data folder's before anything in it is
// changed. It changes nothing in the folder either: one that is about to get the
// database's name, or both without one, may go on.
func (db *DB) mayMigrate(ctx context.Context) error {
	if db.DataDir == "" {
		return nil
	}
	path := filepath.Join(db.DataDir, "cluster")
	folder, err := readName(path)
	if err != nil {
		return err
	}
	if db.pg == nil {
		if folder != "" {
			err = fmt.Errorf("%w: the data folder %s belongs to a database on PostgreSQL, but [store] url names none. Put its address back there; "+
				"to start a new SQLite database in the folder instead, remove %s", ErrCluster, db.DataDir, path)
		}
		return err
	}
	c := &cluster{db, path}
	row, err := c.row(ctx)
	if err != nil && !errors.Is(err, ErrNotMigrated) {
		return err
	}
	if folder == "" {
		if folder, err = readName(path + ".new"); err == nil && folder != row {
			folder, err = readName(path) // another engine may have named it meanwhile
		}
		if err != nil {
			return err
		}
	}
	return c.belong(row, folder)
}

// belong says whether the names of the database and of the folder are the same; empty:
// none.
func (c *cluster) belong(row, folder string) error {
	switch {
	case row == folder:
		return nil
	case folder == "":
		return fmt.Errorf("%w: this database is used with another data folder than %s; engines on one database share one, so mount that one here. "+
			"If it is lost, or this is a copy of it, accept this folder by writing %s into %s", ErrCluster, c.db.DataDir, row, c.path)
	case row == "":
		return fmt.Errorf("%w: the database of [store] url is new, and the data folder %s holds files of another one (%s); "+
			"check [store] url, or set data_dir to an empty folder. To use the folder with this database all the same, remove %s",
			ErrCluster, c.db.DataDir, folder, c.path)
	}
	return fmt.Errorf("%w: the database is %s, and the data folder %s belongs to %s; check [store] url and data_dir. "+
		"If one of them was restored and they do belong together, write %s into %s", ErrCluster, row, c.db.DataDir, folder, row, c.path)
}

func (c *cluster) row(ctx context.Context) (string, error) {
	return Value[string](ctx, c.db, "read cluster", readCluster)
}

// found names a new database and the folder at once. Of several that do it together
// in one folder all mean the same name; one in another folder is told so.
func (c *cluster) found(ctx context.Context) (row, folder string, err error) {
	id, err := meantName(c.path + ".new")
	if err != nil {
		return "", "", err
	}
	err = c.db.Write(ctx, Durable, "name database", func(t *Tx) error { return t.Do(insertCluster, id, time.Now()) })
	if err == nil {
		row, err = c.row(ctx)
	}
	if err == nil {
		folder, err = adopt(c.path, row)
	}
	return row, folder, err
}

// meantName is the name in a file that is made with a new one unless it is there. It
// is never seen half written.
func meantName(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".cluster-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("name the data folder: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, strings.ToLower(rand.Text()))
	if err = errors.Join(err, f.Close()); err == nil {
		if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("name the data folder: %w", err)
	}
	return readName(path)
}

// adopt gives the folder the row's name if that is what it was about to get.
func adopt(path, row string) (folder string, err error) {
	meant, err := readName(path + ".new")
	if err != nil {
		return "", err
	}
	if meant != row {
		// Another engine may have done it meanwhile.
		return readName(path)
	}
	if err := os.Rename(path+".new", path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("name the data folder: %w", err)
	}
	return readName(path)
}

// readName reads a file that holds a name; empty: there is none.
func readName(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of the data folder: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
