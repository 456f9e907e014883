package database_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestMigrationThatLosesRowsIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := storetest.NewHouse(t, db)
		if !db.Migrated(h.Ctx) {
			t.Error("the migrations are not known to be applied")
		}
		h.Accept(storetest.Entry("c", "1", "hello"))
		for _, script := range []string{
			"CREATE TABLE extra (n integer); DELETE FROM event_keys;",
			"CREATE TABLE extra (n integer); DROP TABLE event_keys;",
		} {
			err := db.MigrateAlso(h.Ctx, script)
			if !errors.Is(err, database.ErrGuard) || !strings.Contains(err.Error(), "event_keys") {
				t.Errorf("%v", err)
			}
		}
		if err := db.MigrateAlso(h.Ctx, "CREATE TABLE extra (n integer); SELECT nonsense;"); err == nil || !strings.Contains(err.Error(), "migration 9999") {
			t.Errorf("%v", err)
		}
		if n, err := storetest.Count(h.Ctx, db, "SELECT count(*) FROM event_keys"); n != 1 || err != nil {
			t.Errorf("%d keys, %v", n, err)
		}
		if _, err := storetest.Count(h.Ctx, db, "SELECT count(*) FROM extra"); err == nil {
			t.Error("a refused migration left its table")
		}
		if err := db.MigrateAlso(h.Ctx, "CREATE TABLE extra (n integer);"); err != nil {
			t.Error(err)
		}
		if db.Migrated(h.Ctx) {
			t.Error("a migration more is none")
		}
		st, err := db.MigrationStatus(h.Ctx)
		if err != nil || len(st) == 0 || !st[0].Applied || st[0].Name != "first" || time.Since(st[0].AppliedAt).Abs() > time.Minute {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

func TestSchemaOfANewerBuildIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		if err := db.MigrateAlso(t.Context(), "CREATE TABLE extra (n integer);"); err != nil {
			t.Fatal(err)
		}
		if err := db.MigrateWith(t.Context(), "CREATE TABLE other (n integer);"); !errors.Is(err, database.ErrNewer) || !strings.Contains(err.Error(), "has number 9999") {
			t.Errorf("%v", err)
		}
		if _, err := engines.Start(t.Context(), db.DB, false); !errors.Is(err, database.ErrNewer) {
			t.Errorf("an engine started: %v", err)
		}
		if _, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM other"); err == nil {
			t.Error("the functions of an older build were put over a newer schema")
		}
	})
}

func TestFunctionsThatDifferAreReplacedOnce(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	function := func(want string) {
		t.Helper()
		var got string
		err := db.Read(t.Context(), "test", func(tx *database.Tx) error {
			_, err := tx.Row("SELECT string_agg(proname || CASE proname WHEN 'sb_extra' THEN prosrc ELSE '' END, ' ' ORDER BY proname) FROM pg_proc "+
				"WHERE proname IN ('sb_extra', 'sb_steps') AND pronamespace = CAST(current_schema() AS regnamespace)", nil, &got)
			return err
		})
		if err != nil || got != want {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
	}
	migrate := func(script string) {
		t.Helper()
		if err := db.MigrateWith(t.Context(), script); err != nil {
			t.Error(err)
		}
	}
	extra := "CREATE OR REPLACE FUNCTION sb_extra() RETURNS text LANGUAGE sql AS 'SELECT 1';"
	migrate(store.Schema.Functions + extra)
	function("sb_extraSELECT 1 sb_steps")
	if err := db.MigrateWith(t.Context(), store.Schema.Functions+"SELECT nonsense;"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("%v", err)
	}
	function("sb_extraSELECT 1 sb_steps")
	run(t, db, "CREATE OR REPLACE FUNCTION sb_extra() RETURNS text LANGUAGE sql AS 'SELECT 2'")
	migrate(store.Schema.Functions + extra)
	function("sb_extraSELECT 2 sb_steps") // the same script is not run again
	if err := db.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	function("sb_steps")
}

// What makes room for the buttons of commands makes the table of all buttons again on SQLite.
func TestMigrationOfButtonsKeepsActions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := storetest.NewHouse(t, db)
		h.Accept(storetest.Entry("c", "1", "hello"))
		blob := "blob"
		if db.PG() {
			blob = "bytea"
		}
		code := func(text string) string { return "CAST('" + text + "' AS " + blob + ")" }
		for i, kind := range []string{"approval", "snooze", "choice", "claim", "pairing", "link", "choice"} {
			run(t, db, fmt.Sprintf(`INSERT INTO actions (code, kind, state, outcome, person, session_id, turn_id, message_id, text, number, data, used_by, created_at, expires_at, used_at)
				VALUES (%s, '%s', 'accepted', 'used', 'ada', 1, 1, 1, 'green', 3, '{"does":"retry"}', 'bob', 11, 12, 13)`, code(fmt.Sprint("code", i)), kind))
		}
		run(t, db, "DELETE FROM actions WHERE kind = 'snooze'")
		before := actionsTable(t, db)
		if err := db.MigrateAgain(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		if after := actionsTable(t, db); !slices.Equal(before, after) || len(after) < 6+6 {
			t.Errorf("was %q, is %q", before, after)
		}
		run(t, db, "INSERT INTO actions (code, kind, state, session_id, message_id, created_at, expires_at) VALUES ("+code("new")+", 'command', 'proposed', 1, 1, 1, 2)")
		for _, wrong := range []string{
			"INSERT INTO actions (code, kind, state, created_at, expires_at) VALUES (" + code("other") + ", 'nonsense', 'proposed', 1, 2)",
			"INSERT INTO actions (code, kind, state, created_at, expires_at) VALUES (" + code("new") + ", 'claim', 'proposed', 1, 2)",
			"INSERT INTO actions (code, kind, state, session_id, created_at, expires_at) VALUES (" + code("other") + ", 'claim', 'proposed', 99, 1, 2)",
		} {
			err := db.WriteFunc(t.Context(), database.Durable, func(exec func(string) error) error { return exec(wrong) })
			if err == nil {
				t.Errorf("taken: %s", wrong)
			}
		}
	})
}

// actionsTable is all that is in the table of actions, and its indexes.
func actionsTable(t *testing.T, db *store.DB) (list []string) {
	t.Helper()
	indexes := "SELECT name || ' ' || coalesce(sql, '') AS c FROM sqlite_master WHERE type = 'index' AND tbl_name = 'actions' AND sql IS NOT NULL ORDER BY 1"
	if db.PG() {
		indexes = "SELECT indexdef AS c FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'actions' ORDER BY 1"
	}
	for _, query := range []string{indexes, `
		SELECT id || ' ' || code || ' ' || kind || ' ' || state || ' ' || outcome || ' ' || person || ' ' || session_id || ' ' || turn_id || ' ' || message_id
			|| ' ' || coalesce(approval_id, 0) || ' ' || text || ' ' || number || ' ' || data || ' ' || used_by || ' ' || created_at || ' ' || expires_at || ' ' || used_at AS c
		FROM actions ORDER BY id`} {
		err := db.Read(t.Context(), "test", func(tx *database.Tx) error {
			var rows []struct{ C string }
			err := tx.All(&rows, query)
			for _, r := range rows {
				list = append(list, r.C)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestTwinsHaveTheSameColumns(t *testing.T) {
	t.Parallel()
	lite, err := storetest.SQLite(t).Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pg, err := storetest.Postgres(t).Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours := func(c string) bool { // of goose, and the index of FTS5
		return strings.HasPrefix(c, "goose_") || strings.HasPrefix(c, "recalled_words")
	}
	lite, pg = slices.DeleteFunc(lite, ours), slices.DeleteFunc(pg, ours)
	if !slices.Equal(lite, pg) || len(lite) < 150 {
		t.Errorf("SQLite %d columns, PostgreSQL %d\n%v\n%v", len(lite), len(pg), lite, pg)
	}
}
