package database

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"
)

// A querier runs statements whose parameters are written "?".
type querier interface {
	Exec(query string, args ...any) (sql.Result, error)
	Query(query string, args ...any) (Rows, error)
}

// Rows are what a query gives: *sqlx.Rows, or a driver's own.
type Rows interface {
	Columns() ([]string, error)
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// A Tx is a transaction, or a connection to read from, with the helpers that all
// queries go through. Arguments are bound as Plain has them.
type Tx struct {
	Q  querier
	PG bool
	// Now is the clock of instants in rows as the transaction began, µs UTC. Whether an
	// owner lives is judged by the database's clock alone.
	Now int64
}

// Exec runs a statement and returns how many rows it touched.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	res, err := t.Q.Exec(query, plain(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Do runs a statement.
func (t *Tx) Do(query string, args ...any) error {
	_, err := t.Q.Exec(query, plain(args)...)
	return err
}

// plain makes arguments Plain, where they are.
func plain(args []any) []any {
	for i := range args {
		args[i] = Plain(args[i])
	}
	return args
}

// Has says whether there is a row.
func (t *Tx) Has(query string, args ...any) (bool, error) { return t.Row(query, args) }

// Row scans the first row into dest, in order of columns, an instant into a time.Time; found is false when
// there is none.
func (t *Tx) Row(query string, args []any, dest ...any) (found bool, err error) {
	rows, err := t.Q.Query(query, plain(args)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	for i := range dest {
		dest[i] = variable(dest[i])
	}
	if len(dest) > 0 {
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
	}
	// Reading on to the end brings the error of a statement that fails late.
	for rows.Next() {
	}
	return true, rows.Err()
}

// Must is Row where there has to be a row; none is returned where there is not.
func (t *Tx) Must(none error, query string, args []any, dest ...any) error {
	found, err := t.Row(query, args, dest...)
	if err == nil && !found {
		return none
	}
	return err
}

// Change runs a statement that has to touch a row; none is returned where it touches none.
func (t *Tx) Change(none error, query string, args ...any) error {
	n, err := t.Exec(query, args...)
	if err == nil && n == 0 {
		return none
	}
	return err
}

var errNoID = errors.New("insert returned no id")

// Insert runs an INSERT … RETURNING id.
func (t *Tx) Insert(query string, args ...any) (id int64, err error) {
	err = t.Must(errNoID, query, args, &id)
	return id, err
}

// IDs reads rows of one column, the ID.
func (t *Tx) IDs(query string, args ...any) (ids []int64, err error) {
	return Views(t, func(r *struct{ ID int64 }) int64 { return r.ID }, query, args...)
}

// Names reads rows of one column, the name.
func (t *Tx) Names(query string, args ...any) (names []string, err error) {
	return Views(t, func(r *struct{ Name string }) string { return r.Name }, query, args...)
}

// A Statement changes rows, or reads one.
type Statement struct {
	query string
	args  []any
	dest  []any // of the row that it reads
}

// Do is a statement with its arguments.
func Do(query string, args ...any) Statement { return Statement{query: query, args: args} }

// Row is a query with its arguments, and where its first row goes.
func Row(query string, args []any, dest ...any) Statement { return Statement{query, args, dest} }

// Run runs statements one after the other.
func (t *Tx) Run(list ...Statement) error {
	for _, s := range list {
		var err error
		if s.dest == nil {
			err = t.Do(s.query, s.args...)
		} else {
			_, err = t.Row(s.query, s.args, s.dest...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Each runs statements that all take the same arguments, and counts what the last one touched.
func (t *Tx) Each(queries []string, args []any) (n int64, err error) {
	for _, query := range queries {
		if n, err = t.Exec(query, args...); err != nil {
			return 0, fmt.Errorf("%s: %w", query, err)
		}
	}
	return n, nil
}

// Try runs fn, and undoes what it did if it returns an error, which is returned; the transaction goes on.
func (t *Tx) Try(fn func() error) error {
	if _, err := t.Exec("SAVEPOINT try"); err != nil {
		return err
	}
	end, err := "RELEASE try", fn()
	if err != nil {
		end = "ROLLBACK TO try"
	}
	if _, fault := t.Exec(end); fault != nil {
		return fault
	}
	return err
}

// Either is what one of the two databases takes.
func (t *Tx) Either(sqlite, postgres string) string {
	if t.PG {
		return postgres
	}
	return sqlite
}

// With is a SELECT with a lock that PostgreSQL takes behind it. SQLite has one writer and needs none.
func (t *Tx) With(query, lock string) string { return t.Either(query, query+lock) }

// Locked is a SELECT whose rows must not change before the transaction ends.
func (t *Tx) Locked(query string) string { return t.With(query, " FOR UPDATE") }

// Free is Locked without the rows that somebody has locked.
func (t *Tx) Free(query string) string { return t.With(query, " FOR UPDATE SKIP LOCKED") }

// Shut runs statements by which transactions on PostgreSQL take turns; SQLite has one writer.
func (t *Tx) Shut(queries ...string) error {
	if !t.PG {
		return nil
	}
	_, err := t.Each(queries, nil)
	return err
}

// In gives the marks and arguments of an IN list.
func In[T any](list []T) (marks string, args []any) {
	args = make([]any, len(list))
	for i, v := range list {
		args[i] = v
	}
	return strings.TrimSuffix(strings.Repeat("?,", len(list)), ","), args
}

// rebound keeps the PostgreSQL form of every query.
var rebound sync.Map

// dollars writes the parameters of query as $1, $2, …
func dollars(query string) string {
	if q, ok := rebound.Load(query); ok {
		return q.(string)
	}
	q := sqlx.Rebind(sqlx.DOLLAR, query)
	rebound.Store(query, q)
	return q
}

// Select reads rows.
func Select[R any](t *Tx, query string, args ...any) (rows []R, err error) {
	err = t.All(&rows, query, args...)
	return rows, err
}

// First reads the first row; nil: there is none.
func First[R any](t *Tx, query string, args ...any) (*R, error) {
	rows, err := Select[R](t, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// Views reads rows, each as view shows it.
func Views[R, V any](t *Tx, view func(*R) V, query string, args ...any) (list []V, err error) {
	rows, err := Select[R](t, query, args...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		list = append(list, view(&rows[i]))
	}
	return list, nil
}
