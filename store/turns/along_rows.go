package turns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// alongRows are rows that were read along: a JSON list of lists of values, as the server writes it.
type alongRows struct {
	columns []string
	list    *json.Decoder
}

// rowsOf reads a list of rows, or null.
func rowsOf(list []byte, columns ...string) *alongRows {
	r := &alongRows{columns: columns, list: json.NewDecoder(bytes.NewReader(list))}
	if start, _ := r.list.Token(); start != json.Delim('[') {
		r.list = json.NewDecoder(bytes.NewReader(nil))
	}
	return r
}

func (r *alongRows) Columns() ([]string, error) { return r.columns, nil }

func (r *alongRows) Next() bool { return r.list.More() }

func (r *alongRows) Scan(dest ...any) error {
	row := slices.Clone(dest) // json fills what these point to, and puts nil for null
	if err := r.list.Decode(&row); err != nil {
		return err
	}
	if len(row) != len(dest) {
		return fmt.Errorf("%d columns for %d", len(row), len(dest))
	}
	if i := slices.Index(row, nil); i >= 0 {
		return fmt.Errorf("column %d is NULL", i)
	}
	return nil
}

func (r *alongRows) Err() error { return nil }

func (r *alongRows) Close() error { return nil }
