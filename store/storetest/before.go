package storetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// Before fills the folder dir with the data folder that the build 079d196 left, and on PostgreSQL
// a new database: turns, deliveries, approvals, people and files of the people u1 and u2 on the
// scripted channel "play". It was killed in the middle of a turn of u1 ("run sleep …"), another
// waits for it ("after it"), and one of u2 waits for a decision ("run echo waiting"). It returns
// the database's address.
func Before(t testing.TB, kind, dir string) (url string) {
	t.Helper()
	return left(t, "before-"+kind, kind, dir)
}

// Early is Before for the build feda0ea, from before docs/decisions/0021-order-of-turns.md: what a
// conversation of one command and one message left of it, on PostgreSQL without the functions.
func Early(t testing.TB, kind, dir string) (url string) {
	t.Helper()
	return left(t, "early-"+kind, kind, dir)
}

// left unpacks what a build left.
func left(t testing.TB, name, kind, dir string) (url string) {
	t.Helper()
	packed, err := testdata.ReadFile("testdata/" + name + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := unpack(packed, dir); err != nil {
		t.Fatal(err)
	}
	if kind == "sqlite" {
		return "sqlite:" + filepath.Join(dir, "switchboard.db")
	}
	script, err := os.ReadFile(filepath.Join(dir, "dump.sql")) // of pg_dump --inserts
	if err == nil {
		url = PostgresURL(t)
		err = admin(url, string(script))
	}
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func unpack(packed []byte, dir string) error {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		text, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
