package storetest

import (
	"context"
	"strings"
	"testing"

	"switchboard/store"
	"switchboard/store/database"
)

// WantIndexes wants each query to be found by its index on SQLite, and rows that are asked for in
// order not to be sorted.
func WantIndexes(t *testing.T, indexOf map[string]string) {
	t.Helper()
	db := SQLite(t)
	for query, want := range indexOf {
		lines, err := Plan(t.Context(), db, query)
		plan := strings.Join(lines, "\n")
		sorts := strings.Contains(query, "INDEXED BY") && strings.Contains(plan, "TEMP B-TREE FOR ORDER BY")
		if err != nil || !strings.Contains(plan, want) || sorts {
			t.Errorf("want %s in\n%s\n%v of %s", want, plan, err, query)
		}
	}
}

// WantNoScans wants each query to go through an index, so that it is as fast with a million rows as with
// none.
func (h *House) WantNoScans(queries map[string]string) {
	h.Helper()
	for name, query := range queries {
		plan, err := Plan(h.Ctx, h.DB, query)
		if err != nil {
			h.Fatalf("%s: %v", name, err)
		}
		for _, line := range plan {
			if h.DB.Kind() == "sqlite" && strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "INDEX") && !strings.HasPrefix(line, "SCAN x") ||
				strings.Contains(line, "Seq Scan") || strings.Contains(line, "TEMP B-TREE FOR ORDER BY") {
				h.Errorf("%s:\n%s", name, strings.Join(plan, "\n"))
				break
			}
		}
	}
}

// Plan is how the database would run a query whose parameters are numbers, one step a
// line. PostgreSQL is told to prefer any index to none.
func Plan(ctx context.Context, db *store.DB, query string) (plan []string, err error) {
	query = strings.ReplaceAll(query, "?", "1")
	err = db.Write(ctx, database.Async, "explain", func(t *database.Tx) error {
		plan = nil
		if t.PG {
			if _, err := t.Exec("SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			var rows []struct {
				Line string `db:"QUERY PLAN"`
			}
			err := t.All(&rows, "EXPLAIN "+query)
			for _, r := range rows {
				plan = append(plan, r.Line)
			}
			return err
		}
		var rows []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		err := t.All(&rows, "EXPLAIN QUERY PLAN "+query)
		for _, r := range rows {
			plan = append(plan, r.Detail)
		}
		return err
	})
	return plan, err
}
