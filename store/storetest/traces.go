package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/store"
	"switchboard/store/database"
)

// Traces is everything that a database holds, to be searched: each row of each table, and
// on SQLite the bytes of its files.
func Traces(t testing.TB, db *store.DB) string {
	t.Helper()
	var all strings.Builder
	err := db.Read(t.Context(), "traces", func(t *database.Tx) error {
		tables, columns := "SELECT name AS line FROM sqlite_master WHERE type = 'table'", "SELECT 'quote(\"' || name || '\")' AS line FROM pragma_table_info(?)"
		if t.PG {
			tables = "SELECT tablename AS line FROM pg_tables WHERE schemaname = current_schema()"
		}
		type lines []struct{ Line string }
		var names lines
		if err := t.All(&names, tables); err != nil {
			return err
		}
		for _, name := range names {
			table, row := `"`+name.Line+`"`, ""
			var list, rows lines
			if t.PG {
				row = "CAST(" + table + " AS text)"
			} else if err := t.All(&list, columns, name.Line); err != nil {
				return err
			}
			for i, column := range list {
				row += []string{"", " || ' ' || "}[min(i, 1)] + column.Line
			}
			if err := t.All(&rows, "SELECT "+row+" AS line FROM "+table); err != nil {
				return err
			}
			for _, row := range rows {
				all.WriteString(name.Line + ": " + row.Line + "\n")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if path := db.Path(); path != "" {
		all.WriteString(Files(t, path+"*"))
	}
	return all.String()
}

// Files is what stands in files and in all folders below those that match, with their names.
func Files(t testing.TB, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		err := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			all.WriteString(path + ": ")
			all.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
