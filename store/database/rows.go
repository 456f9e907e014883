package database

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Clean makes a text that both databases can hold and give back unchanged:
// PostgreSQL takes neither NUL nor invalid UTF-8.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CleanPtr is clean for a column that may be NULL.
func CleanPtr(s *string) any {
	if s == nil {
		return nil
	}
	return Clean(*s)
}

// JSONList is a list as JSON text; a nil one is NULL.
func JSONList(list []string) any {
	if list == nil {
		return nil
	}
	return JSONText(list)
}

// JSONText encodes what cannot fail to encode.
func JSONText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a channel or function in a row type: a fault of ours
	}
	return Clean(string(b))
}

// ParseList reads jsonList back.
func ParseList(s *string) ([]string, error) {
	if s == nil {
		return nil, nil
	}
	var list []string
	err := json.Unmarshal([]byte(*s), &list)
	return list, err
}

// Micros is an instant as stored; the zero time is 0.
func Micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// Instant reads Micros back.
func Instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// InstantPtr reads a column that may be NULL.
func InstantPtr(us *int64) *time.Time {
	if us == nil {
		return nil
	}
	at := Instant(*us)
	return &at
}

// Digits is an ID in text, as names of leases have it.
func Digits(id int64) string { return strconv.FormatInt(id, 10) }

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

// List is Select in a transaction of its own.
func List[R any](ctx context.Context, db *DB, what, query string, args ...any) ([]R, error) {
	return Read(ctx, db, what, func(t *Tx) ([]R, error) { return Select[R](t, query, args...) })
}

// Value reads one column of the first row in a transaction of its own; the zero value: there is none.
func Value[V any](ctx context.Context, db *DB, what, query string, args ...any) (V, error) {
	return Read(ctx, db, what, func(t *Tx) (v V, err error) {
		_, err = t.Row(query, args, &v)
		return v, err
	})
}

// Read is DB.Read of something.
func Read[V any](ctx context.Context, db *DB, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Read(ctx, op, run) }, fn)
}

// Look is DB.Look of something.
func Look[V any](ctx context.Context, db *DB, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Look(ctx, op, run) }, fn)
}

// Write is DB.Write with something to return.
func Write[V any](ctx context.Context, db *DB, mode Durability, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Write(ctx, mode, op, run) }, fn)
}

// got is what the last try of fn returned, and nothing with an error.
func got[V any](transaction func(func(*Tx) error) error, fn func(*Tx) (V, error)) (v V, err error) {
	if err = transaction(func(t *Tx) (err error) {
		v, err = fn(t)
		return err
	}); err != nil {
		var none V
		return none, err
	}
	return v, nil
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

// Listed is Views in a transaction of its own.
func Listed[R, V any](ctx context.Context, db *DB, what string, view func(*R) V, query string, args ...any) ([]V, error) {
	return Read(ctx, db, what, func(t *Tx) ([]V, error) { return Views(t, view, query, args...) })
}

// ShownCost is a cost without the dust of adding many of them up.
func ShownCost(cost float64) float64 { return math.Round(cost*1e9) / 1e9 }

// AsJSON is a body as JSON: itself when it is valid, a string of it when not.
func AsJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if json.Valid(b) {
		return b
	}
	return json.RawMessage(JSONText(Clean(string(b))))
}
