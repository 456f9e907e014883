package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A naming is a foreign key: rows of child name rows of parent.
type naming struct {
	child, parent string
	columns       [][2]string // of child, of parent
}

// namings asks SQLite, where every column that names a row has a foreign key. On
// PostgreSQL those of the busiest tables have none.
var namings = sync.OnceValues(func() (list []naming, err error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	file, err := migratedFile()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "switchboard-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "schema.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT m.name, f."table", f.seq, f."from", f."to"
		FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n naming
		var seq int
		var pair [2]string
		if err := rows.Scan(&n.child, &n.parent, &seq, &pair[0], &pair[1]); err != nil {
			return nil, err
		}
		if seq == 0 {
			list = append(list, n)
		}
		last := &list[len(list)-1]
		last.columns = append(last.columns, pair)
	}
	return list, rows.Err()
})

// orphans is the SQL that counts the rows which name one that is not there.
func (n *naming) orphans() string {
	named, same := []string{}, []string{}
	for _, c := range n.columns {
		named = append(named, "c."+c[0]+" IS NOT NULL")
		same = append(same, "p."+c[1]+" = c."+c[0])
	}
	return fmt.Sprintf("SELECT count(*) FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
		n.child, strings.Join(named, " AND "), n.parent, strings.Join(same, " AND "))
}

// orphans lists, in words, which rows of the database name one that is not there. A
// schema that was not migrated has none. It is asked after each test: by two statements, about
// the tables that have anything.
func orphans(address string) (found []string, err error) {
	list, err := namings()
	if err != nil {
		return nil, fmt.Errorf("the schema's twin: %w", err)
	}
	db, err := sql.Open("postgres", address)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	filled := map[string]bool{} // of the tables that are there
	err = each(ctx, db, "SELECT relname, pg_relation_size(oid) > 0 FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace", func(name string, has bool) {
		filled[name] = has
	})
	if err != nil {
		return nil, err
	}
	var counts []string
	for i, n := range list {
		if _, there := filled[n.parent]; there && filled[n.child] {
			counts = append(counts, fmt.Sprintf("SELECT %d, (%s)", i, n.orphans()))
		}
	}
	if len(counts) == 0 {
		return nil, nil
	}
	err = each(ctx, db, strings.Join(counts, " UNION ALL ")+" ORDER BY 1", func(i, count int) {
		if count > 0 {
			found = append(found, fmt.Sprintf("%d of %s name rows of %s", count, list[i].child, list[i].parent))
		}
	})
	return found, err
}

// each calls do for each row of two columns.
func each[A, B any](ctx context.Context, db *sql.DB, query string, do func(A, B)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a A
		var b B
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		do(a, b)
	}
	return rows.Err()
}
