package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// A liteConn runs statements on one connection to a SQLite file, compiled once.
// It talks to the driver itself: database/sql starts a goroutine or two for each
// query whose context can end, and copies every value by reflection, which
// together cost more than a short statement does. It is used by one goroutine at
// a time, inside sql.Conn.Raw.
type liteConn struct {
	stmts map[string]*liteStmt
	args  []driver.NamedValue // of the statement that is being bound
	raw   driver.Conn
	wrote bool            // something else than a SELECT was begun
	ctx   context.Context //nolint:containedctx // a reader's, asked between statements and rows; nil: nobody's
}

type liteStmt struct {
	driver.Stmt
	run    driver.StmtExecContext
	look   driver.StmtQueryContext
	writes bool
}

// exec and query take no context: a statement that is cut off inside a
// transaction would roll back all of it.
func (c *liteConn) Exec(query string, args ...any) (sql.Result, error) {
	s, bound, err := c.bind(query, args)
	if err != nil {
		return nil, err
	}
	return s.run.ExecContext(context.Background(), bound)
}

func (c *liteConn) Query(query string, args ...any) (Rows, error) {
	s, bound, err := c.bind(query, args)
	if err != nil {
		return nil, err
	}
	r, err := s.look.QueryContext(context.Background(), bound)
	if err != nil {
		return nil, err
	}
	return &liteRows{rows: r, ctx: c.ctx}, nil
}

func (c *liteConn) bind(query string, args []any) (*liteStmt, []driver.NamedValue, error) {
	if c.ctx != nil && c.ctx.Err() != nil {
		return nil, nil, c.ctx.Err()
	}
	s, err := c.prepared(query)
	if err != nil {
		return nil, nil, err
	}
	c.wrote = c.wrote || s.writes
	c.args = c.args[:0]
	for i, a := range args {
		v, err := value(a)
		if err != nil {
			return nil, nil, err
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s, c.args, nil
}

// value makes a driver's value of a.
func value(a any) (driver.Value, error) {
	switch v := a.(type) {
	case nil, int64, string, []byte, bool, float64:
		return v, nil
	case int:
		return int64(v), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(a)
}

func (c *liteConn) prepared(query string) (*liteStmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxPrepared {
		// Lists of varying length make a statement each.
		if err := c.forgetStmts(); err != nil {
			return nil, err
		}
	}
	p, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	s := &liteStmt{Stmt: p, writes: !strings.HasPrefix(strings.TrimSpace(query), "SELECT")}
	var can, may bool
	s.run, can = p.(driver.StmtExecContext)
	s.look, may = p.(driver.StmtQueryContext)
	if !can || !may {
		return nil, errors.Join(errors.New("the SQLite driver lacks contexts"), p.Close())
	}
	c.stmts[query] = s
	return s, nil
}

func (c *liteConn) forgetStmts() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	clear(c.stmts)
	return errors.Join(errs...)
}

// liteRows reads a driver's rows as database/sql's would be read.
type liteRows struct {
	rows   driver.Rows
	values []driver.Value
	err    error
	ctx    context.Context //nolint:containedctx // as the connection's
}

func (r *liteRows) Columns() ([]string, error) { return r.rows.Columns(), nil }

func (r *liteRows) Next() bool {
	if r.err != nil {
		return false
	}
	if r.values == nil {
		r.values = make([]driver.Value, len(r.rows.Columns()))
	}
	if r.err = r.rows.Next(r.values); r.err == nil && r.ctx != nil {
		r.err = r.ctx.Err()
	}
	return r.err == nil
}

func (r *liteRows) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

func (r *liteRows) Close() error {
	if r.rows == nil {
		return nil
	}
	err := r.rows.Close()
	r.rows, r.err = nil, io.EOF
	return err
}

func (r *liteRows) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("%d values into %d variables", len(r.values), len(dest))
	}
	for i, d := range dest {
		if err := assign(d, r.values[i]); err != nil {
			return fmt.Errorf("column %q: %w", r.rows.Columns()[i], err)
		}
	}
	return nil
}

// assign stores what the driver read where dest points. NULL goes into pointers
// and byte slices alone.
func assign(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case *string:
		if s, ok := v.(string); ok {
			*d = s
			return nil
		}
	case *int64:
		if n, ok := v.(int64); ok {
			*d = n
			return nil
		}
	case *int:
		if n, ok := v.(int64); ok {
			*d = int(n)
			return nil
		}
	case *bool:
		if n, ok := v.(int64); ok {
			*d = n != 0
			return nil
		}
	case *[]byte:
		if b, ok := v.([]byte); ok || v == nil {
			*d = b
			return nil
		}
	case sql.Scanner:
		return d.Scan(v)
	}
	return assignKind(reflect.ValueOf(dest).Elem(), v)
}

func assignKind(dest reflect.Value, v driver.Value) error {
	if dest.Kind() == reflect.Pointer {
		if v == nil {
			dest.SetZero()
			return nil
		}
		dest.Set(reflect.New(dest.Type().Elem()))
		return assign(dest.Interface(), v)
	}
	switch v := v.(type) {
	case string:
		switch {
		case dest.Kind() == reflect.String:
			dest.SetString(v)
			return nil
		case dest.Kind() == reflect.Slice && dest.Type().Elem().Kind() == reflect.Uint8:
			dest.SetBytes([]byte(v))
			return nil
		}
	case []byte:
		if dest.Kind() == reflect.String {
			dest.SetString(string(v))
			return nil
		}
	case int64:
		switch {
		case dest.CanInt():
			dest.SetInt(v)
			return nil
		case dest.CanFloat():
			dest.SetFloat(float64(v))
			return nil
		case dest.Kind() == reflect.Bool:
			dest.SetBool(v != 0)
			return nil
		}
	case float64:
		if dest.CanFloat() {
			dest.SetFloat(v)
			return nil
		}
	}
	return fmt.Errorf("%T does not go into %s", v, dest.Type())
}
