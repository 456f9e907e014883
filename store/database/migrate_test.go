package database_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// promise: L.migration-guard
func TestMigrationThatLosesRowsIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := storetest.NewHouse(t, db)
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
		st, err := db.MigrationStatus(h.Ctx)
		if err != nil || len(st) == 0 || !st[0].Applied || st[0].Name != "first" || time.Since(st[0].AppliedAt).Abs() > time.Minute {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// promise: P10.same-on-both
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
	ours := func(c string) bool { return strings.HasPrefix(c, "goose_") }
	lite, pg = slices.DeleteFunc(lite, ours), slices.DeleteFunc(pg, ours)
	if !slices.Equal(lite, pg) || len(lite) < 150 {
		t.Errorf("SQLite %d columns, PostgreSQL %d\n%v\n%v", len(lite), len(pg), lite, pg)
	}
}
