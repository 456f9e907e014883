package database

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jmoiron/sqlx/reflectx"
)

// fields finds the field of a column: created_at goes into CreatedAt, and "job.id" into Job.ID.
var fields = reflectx.NewMapperFunc("db", func(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
})

// All scans every row into dest, a pointer to a slice of structs, each column into the field of its name. An
// instant goes into a time.Time, and JSON into what holds it.
func (t *Tx) All(dest any, query string, args ...any) error {
	rows, err := t.Q.Query(query, plain(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	list := reflect.ValueOf(dest).Elem()
	kind := list.Type().Elem()
	paths := fields.TraversalsByName(kind, columns)
	if i := slices.IndexFunc(paths, func(path []int) bool { return len(path) == 0 }); i >= 0 {
		return fmt.Errorf("column %s has no field in %s", columns[i], kind)
	}
	values := make([]any, len(columns))
	for rows.Next() {
		row := reflect.New(kind).Elem()
		for i, path := range paths {
			values[i] = column(reflectx.FieldByIndexes(row, path))
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		list.Set(reflect.Append(list, row))
	}
	return rows.Err()
}

var rawJSON = reflect.TypeFor[json.RawMessage]()

// column is what a field is scanned by.
func column(field reflect.Value) any {
	to := field.Addr().Interface()
	switch field.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		if value := variable(to); value != to || field.Kind() == reflect.Pointer {
			return value
		}
		return JSON(to)
	case reflect.Slice:
		if field.Type() == rawJSON || field.Type().Elem().Kind() != reflect.Uint8 {
			return JSON(to)
		}
	}
	return to
}

// variable is what a variable is scanned by.
func variable(to any) any {
	switch to := to.(type) {
	case *time.Time:
		return (*instant)(to)
	case **time.Time:
		return instantOrNull{to}
	}
	return to
}

// An instant is a time in µs.
type instant time.Time

// Scan takes no NULL.
func (i *instant) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%T is no instant", v)
	}
	*i = instant(Instant(us))
	return nil
}

type instantOrNull struct{ to **time.Time }

// Scan sets nil for NULL.
func (i instantOrNull) Scan(v any) error {
	if *i.to = nil; v == nil {
		return nil
	}
	at := new(time.Time)
	*i.to = at
	return (*instant)(at).Scan(v)
}

// JSON is a variable for a column of JSON; NULL leaves it as it is.
func JSON(to any) sql.Scanner { return jsonText{to} }

type jsonText struct{ to any }

// Scan decodes a text.
func (j jsonText) Scan(v any) error {
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), j.to)
	case []byte:
		return json.Unmarshal(text, j.to)
	}
	return fmt.Errorf("%T is no JSON", v)
}
