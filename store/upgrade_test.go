package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/backup"
	"switchboard/store/blobs"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// contents are all rows of all tables, by table, with the columns that are asked for; nil: all.
func contents(t *testing.T, kind, url string, columns map[string][]string) (all map[string][]string, of map[string][]string) {
	t.Helper()
	address, tables := url, "SELECT CAST(tablename AS text) FROM pg_tables WHERE schemaname = current_schema()"
	if kind == "sqlite" {
		address = "file:" + strings.TrimPrefix(url, "sqlite:") + "?mode=ro"
		tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	}
	db, err := sql.Open(kind, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read := func(query string, each func(columns []string, row []any)) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		values, dest := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		each(names, nil)
		for err == nil && rows.Next() {
			if err = rows.Scan(dest...); err == nil {
				each(names, values)
			}
		}
		if err = errors.Join(err, rows.Err()); err != nil {
			t.Fatal(err)
		}
	}
	if columns == nil {
		columns = map[string][]string{}
		read(tables, func(_ []string, row []any) {
			if row != nil && row[0] != "goose_db_version" {
				columns[row[0].(string)] = nil
			}
		})
		for table := range columns {
			read(`SELECT * FROM "`+table+`" LIMIT 1`, func(names []string, _ []any) {
				columns[table] = slices.DeleteFunc(slices.Clone(names), func(c string) bool { return table == "audit" && c == "chain" }) // which nothing ever wrote
			})
		}
	}
	all = map[string][]string{}
	for table, names := range columns {
		read(`SELECT "`+strings.Join(names, `", "`)+`" FROM "`+table+`"`, func(_ []string, row []any) {
			if row != nil {
				all[table] = append(all[table], fmt.Sprintf("%q", row))
			}
		})
		slices.Sort(all[table])
	}
	return all, columns
}

// A filled database of the build before opens with all its rows, and is worked with.
func TestDatabaseOfTheBuildBeforeOpensWithAllItsRows(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			url := storetest.Before(t, kind, dir)
			db := storetest.Opened(t, url, dir, quiet)
			had, columns := contents(t, kind, url, nil)
			for table, least := range map[string]int{
				"turns": 30, "messages": 70, "deliveries": 35, "people": 3, "identities": 3, "approvals": 4, "actions": 4, "attachments": 2,
				"llm_calls": 40, "llm_bodies": 40, "tasks": 40, "plans": 30, "reviews": 3, "events": 100, "event_keys": 30, "audit": 1, "leases": 3, "owners": 1,
			} {
				if len(had[table]) < least {
					t.Errorf("the fixture has %d rows of %s", len(had[table]), table)
				}
			}
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			has, _ := contents(t, kind, url, columns)
			for _, table := range slices.Sorted(maps.Keys(columns)) {
				if !slices.Equal(had[table], has[table]) {
					t.Errorf("%s had %d rows and has %d, or others:\n%.2000q\n%.2000q", table, len(had[table]), len(has[table]), had[table], has[table])
				}
			}
			h := newHouse(t, db)
			h.Accept(storetest.Entry("c1", "new", "hello"))
			h.WholeTurn("c2", "new2")
			// One that ran, one that waits for it, one that waits for a decision, and the new one.
			h.WantCount(4, "SELECT count(*) FROM turns WHERE state IN ('running', 'waiting', 'queued')")
		})
	}
}

// A backup that is made before the upgrade is restored by the newer build, into the other
// database too.
func TestBackupOfTheBuildBeforeIsRestored(t *testing.T) {
	t.Parallel()
	for kind, other := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run(kind+" to "+other, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			url := storetest.Before(t, kind, dir)
			file, err := os.Create(filepath.Join(t.TempDir(), "backup"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			said := func(string) {}
			made, err := backup.Write(t.Context(), backup.Source{DB: storetest.Opened(t, url, dir, quiet).DB, Files: blobs.New(filepath.Join(dir, "attachments")), Said: said}, file)
			if err != nil || made.Files != 2 || len(made.Missing) > 0 {
				t.Fatalf("%+v, %v", made, err)
			}
			dir = t.TempDir()
			if url = "sqlite:" + filepath.Join(dir, "switchboard.db"); other == "postgres" {
				url = storetest.PostgresURL(t)
			}
			restored, err := backup.Restore(t.Context(), backup.Target{
				Schema: store.Schema, Config: database.Config{URL: secrets.Secret(url)}, DataDir: dir, Files: blobs.New(filepath.Join(dir, "attachments")), Log: quiet, Said: said,
			}, file)
			if err != nil || restored.Count("turns") < 30 || !slices.Equal(restored.Tables, made.Tables) {
				t.Fatalf("%+v, %v", restored, err)
			}
			h := newHouse(t, storetest.Opened(t, url, dir, quiet))
			h.Accept(storetest.Entry("c1", "new", "hello"))
			h.WantCount(4, "SELECT count(*) FROM turns WHERE state IN ('running', 'waiting', 'queued')")
		})
	}
}

// Hours that were sealed prove themselves in the database that a backup was restored into, and
// those after them follow.
func TestSealedAuditIsVerifiedAfterARestore(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 3 {
			h.changes(2)
			h.Later(time.Duration(i+1) * time.Hour)
			h.seal()
		}
		was := h.verified()
		dir := t.TempDir()
		for i, url := range []string{"sqlite:" + filepath.Join(dir, "switchboard.db"), storetest.PostgresURL(t)} {
			other := moved(t, h.DB, blobs.New(filepath.Join(dir, "attachments")), url, fmt.Sprint("target ", i))
			if is, err := other.VerifyAudit(t.Context(), nil); err != nil || !reflect.DeepEqual(is, was) || was.Segments != 3 {
				t.Errorf("%+v, %v, want %+v", is, err, was)
			}
			next := newHouse(t, other)
			next.changes(2)
			next.Later(5 * time.Hour)
			next.seal()
			if is := next.verified(); is.Segments != 4 || is.Open != 0 {
				t.Errorf("%+v", is)
			}
		}
	})
}

// A database of a build from before the first migration got its last form is refused by whoever
// opens it, in a sentence that says what to do, and nothing in it is changed.
func TestDatabaseOfAnEarlyBuildIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"sqlite": "move ", "postgres": "make a new one (createdb NAME)"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			url := storetest.Early(t, kind, dir)
			before, columns := contents(t, kind, url, nil)
			file, _ := os.ReadFile(filepath.Join(dir, "switchboard.db"))
			cfg := database.Config{URL: secrets.Secret(url)}
			for what, open := range map[string]func(context.Context, database.Config, string, *slog.Logger) (*store.DB, error){"open": store.Open, "open to read": store.OpenReadOnly} {
				if _, err := open(t.Context(), cfg, dir, slog.New(slog.DiscardHandler)); !errors.Is(err, database.ErrEarly) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after, _ := contents(t, kind, url, columns); !reflect.DeepEqual(after, before) {
				t.Error("its rows were changed")
			}
			if now, _ := os.ReadFile(filepath.Join(dir, "switchboard.db")); !slices.Equal(now, file) {
				t.Error("its file was changed")
			}
		})
	}
}
