package backup

import (
	"fmt"
	"slices"
	"strings"

	"switchboard/store/database"
)

// A table is one of the database, with its key, by which its rows are in order.
type table struct {
	name string
	key  []string
	left string // a column that is left out
}

// tables are all that a backup carries, each after those whose rows its own rows name.
var tables = []table{
	{name: "people", key: []string{"name"}},
	{name: "identities", key: []string{"identity"}},
	{name: "people_away", key: []string{"name"}},
	{name: "conversations", key: []string{"id"}},
	{name: "marks", key: []string{"channel", "conversation"}},
	{name: "moved", key: []string{"channel", "former"}},
	{name: "sessions", key: []string{"id"}},
	{name: "readings", key: []string{"person", "session_id"}},
	{name: "event_keys", key: []string{"key"}},
	{name: "chat_calls", key: []string{"key"}},
	{name: "rejected", key: []string{"id"}},
	{name: "messages", key: []string{"id"}},
	{name: "attachments", key: []string{"id"}},
	{name: "turns", key: []string{"id"}},
	{name: "plans", key: []string{"turn_id", "attempt"}},
	{name: "tasks", key: []string{"turn_id", "attempt", "position"}},
	{name: "reviews", key: []string{"turn_id", "attempt", "position"}},
	{name: "llm_calls", key: []string{"turn_id", "step"}},
	{name: "llm_bodies", key: []string{"turn_id", "step"}},
	{name: "spending", key: []string{"day", "scope", "name"}},
	{name: "usage", key: []string{"day", "person", "model", "role"}},
	{name: "memories", key: []string{"id"}},
	{name: "memory_settings", key: []string{"person"}},
	{name: "recalled", key: []string{"id"}},
	{name: "vectors", key: []string{"id"}},
	{name: "memory_days", key: []string{"person", "day"}},
	{name: "memory_scopes", key: []string{"scope"}},
	{name: "memory_copy", key: []string{"id"}},
	{name: "deliveries", key: []string{"id"}},
	{name: "approvals", key: []string{"id"}},
	{name: "actions", key: []string{"id"}},
	{name: "events", key: []string{"session_id", "n"}},
	{name: "jobs", key: []string{"id"}},
	{name: "runs", key: []string{"id"}},
	{name: "notifications", key: []string{"id"}},
	{name: "settings_versions", key: []string{"id"}},
	{name: "audit", key: []string{"id"}},
	{name: "audit_segments", key: []string{"id"}},
	{name: "secrets", key: []string{"name"}},
	{name: "tokens", key: []string{"name"}},
	{name: "browsers", key: []string{"id"}},
	{name: "leases", key: []string{"kind", "name"}, left: "owner"}, // nobody's, but fences go on growing
}

// left are the tables that a backup does not carry: which engines work on this database, which
// data folder is its own, what signs browsers in for some minutes, which migrations it has had, and what happened to memories: who keeps a
// copy of them would be given the same numbers twice. Of owners the numbers go on.
var left = []string{"owners", "cluster", "signins", "goose_db_version", "memory_log", "memory_wal"}

// numbered are the tables whose numbers may have to go on: names of owners stand in rows too.
func numbered() []string {
	names := []string{"owners"}
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names
}

// The kinds of values, the same on both databases.
const (
	kindInt   = "int" // of PostgreSQL's boolean too
	kindReal  = "real"
	kindText  = "text"
	kindBytes = "bytes"
)

var kinds = map[string]string{
	"INTEGER": kindInt, "REAL": kindReal, "TEXT": kindText, "BLOB": kindBytes,
	"bigint": kindInt, "integer": kindInt, "boolean": kindInt, "double precision": kindReal, "text": kindText, "bytea": kindBytes,
}

// A column as an archive names it.
type column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`

	boolean, drawn bool // PostgreSQL's boolean; its values are drawn from a sequence
}

const (
	// listTables leaves out those that FTS5 keeps of recalled by itself.
	listTables = `
		SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'recalled\_%' ESCAPE '\' ORDER BY name`
	listTablesPostgres = `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`
	// listColumns leaves out what the database derives by itself.
	listColumns = `
		SELECT c.name, c.type, c.pk > 0 AND m.sql LIKE '%AUTOINCREMENT%' AS drawn
		FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name = ? AND c.hidden = 0 ORDER BY c.name`
	listColumnsPostgres = `
		SELECT column_name AS name, data_type AS type, is_identity = 'YES' AS drawn FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER' ORDER BY column_name COLLATE "C"`
)

// present are the names of the tables that the database has.
func present(t *database.Tx) (names []string, err error) {
	return t.Names(t.Either(listTables, listTablesPostgres))
}

// columns are those of a table that an archive carries, by name.
func (tb *table) columns(t *database.Tx) (list []column, err error) {
	type row struct {
		Name, Type string
		Drawn      bool
	}
	rows, err := database.Select[row](t, t.Either(listColumns, listColumnsPostgres), tb.name)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		kind, ok := kinds[r.Type]
		if !ok {
			return nil, fmt.Errorf("column %s of table %s has the unknown type %s", r.Name, tb.name, r.Type)
		}
		if r.Name != tb.left {
			list = append(list, column{r.Name, kind, r.Type == "boolean", r.Drawn})
		}
	}
	return list, nil
}

// ordered reads the columns of all rows, in the same order on both databases.
func (tb *table) ordered(t *database.Tx, columns []column) string {
	var names, keys []string
	for _, c := range columns {
		names = append(names, `"`+c.Name+`"`)
	}
	for _, key := range tb.key {
		text := slices.ContainsFunc(columns, func(c column) bool { return c.Name == key && c.Kind == kindText })
		key = `"` + key + `"`
		if text && t.PG {
			key += ` COLLATE "C"`
		}
		keys = append(keys, key)
	}
	return `SELECT ` + strings.Join(names, ", ") + ` FROM "` + tb.name + `" ORDER BY ` + strings.Join(keys, ", ")
}

// tableNamed is one of the list; nil: there is none of that name.
func tableNamed(name string) *table {
	if i := slices.IndexFunc(tables, func(t table) bool { return t.name == name }); i >= 0 {
		return &tables[i]
	}
	return nil
}
