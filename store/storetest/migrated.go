package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/database"
)

// Quiet is a logger that says nothing.
var Quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// migratedFile is a migrated SQLite file, made once a process.
var migratedFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "switchboard-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "schema.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migratedDatabase names a migrated database of the server, made once a process, and how to copy it:
// file by file, which takes half the work of what PostgreSQL does since version 15 unless told. Nobody
// is connected to it: a copy would have to wait for them.
var migratedDatabase = sync.OnceValues(func() (name string, err error) {
	base, err := server()
	if err != nil {
		return "", err
	}
	name = "migrated_" + strings.ToLower(rand.Text())
	if err := admin(base, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", err
	}
	if err := migrate(named(base, name)); err != nil {
		return "", err
	}
	const byFile = " STRATEGY FILE_COPY"
	if admin(base, "CREATE DATABASE "+name+"_copy TEMPLATE "+name+byFile) != nil {
		return name, nil // an older server knows this way alone, and not its name
	}
	return name + byFile, nil
})

// migrate applies the migrations of this build and closes the database.
func migrate(address string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	db, err := store.Open(ctx, database.Config{URL: secrets.Secret(address)}, "", Quiet)
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx), db.Close())
}
