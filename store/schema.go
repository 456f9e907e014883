package store

import (
	"embed"
	"io/fs"

	"switchboard/store/database"
)

// The migrations: a folder a dialect, NUMBER_name.sql, in order. A released file
// is never edited. Each runs in one transaction, as one script.
//
//go:embed migrations
var migrations embed.FS

// The functions of PostgreSQL. They are no migration: the file is edited in place.
//
//go:embed hot_transactions.sql
var functions string

// Schema is what database needs to know of the rows.
var Schema = &database.Schema{
	Migrations: must(fs.Sub(migrations, "migrations")),
	Functions:  functions,
	Early:      map[string]string{"sqlite": isEarly, "postgres": isEarlyPostgres},
	Raced:      raced,
}

func must(dir fs.FS, err error) fs.FS {
	if err != nil {
		panic(err) // it is embedded
	}
	return dir
}

// The columns are the last that were added to the first migration in place (docs/decisions/0021-order-of-turns.md).
const (
	isEarly = `
		SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version' AND EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'turns')
		AND NOT EXISTS (SELECT 1 FROM pragma_table_info('approvals') WHERE name = 'identity')`
	isEarlyPostgres = `
		SELECT 1 WHERE to_regclass('goose_db_version') IS NOT NULL AND to_regclass('turns') IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('approvals') AND attname = 'identity')`
)

// raced says that PostgreSQL refused what two did at once: the next try finds what the other did.
func raced(code, table, column string) bool {
	switch code {
	case "23503": // it was merged into another meanwhile, and is gone
		return true
	case "23502":
		return column == "conversation_id"
	case "23505": // two made it, or moved to it, at once
		return table == "conversations" || table == "moved"
	}
	return false
}
