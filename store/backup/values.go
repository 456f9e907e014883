package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"switchboard/store/database"
)

// The first byte of a value in an archive.
const (
	isNull = iota
	isInt
	isReal
	isText
	isBytes
)

// appendRow appends the values of a row, the same bytes whichever database they are from.
func appendRow(b []byte, columns []column, values []any) ([]byte, error) {
	for i, v := range values {
		var err error
		if b, err = appendValue(b, columns[i].Kind, v); err != nil {
			return nil, fmt.Errorf("column %s: %w", columns[i].Name, err)
		}
	}
	return b, nil
}

func appendValue(b []byte, kind string, v any) ([]byte, error) {
	if v == nil {
		return append(b, isNull), nil
	}
	switch kind {
	case kindInt:
		switch n := v.(type) {
		case int64:
			return binary.AppendVarint(append(b, isInt), n), nil
		case bool:
			if n {
				return binary.AppendVarint(append(b, isInt), 1), nil
			}
			return binary.AppendVarint(append(b, isInt), 0), nil
		}
	case kindReal:
		if f, ok := v.(float64); ok {
			return binary.BigEndian.AppendUint64(append(b, isReal), math.Float64bits(f+0)), nil // −0 is 0 on SQLite
		}
	case kindText:
		switch s := v.(type) {
		case string:
			return append(binary.AppendUvarint(append(b, isText), uint64(len(s))), s...), nil
		case []byte:
			return append(binary.AppendUvarint(append(b, isText), uint64(len(s))), s...), nil
		}
	case kindBytes:
		if s, ok := v.([]byte); ok {
			return append(binary.AppendUvarint(append(b, isBytes), uint64(len(s))), s...), nil
		}
	}
	return nil, fmt.Errorf("a value of kind %s came as %T", kind, v)
}

var errGarbled = errors.New("the archive cannot be read; it was written by a build with a fault")

// readRow is the reverse of appendRow, for the columns of a database.
func readRow(b []byte, columns []column, values []any) error {
	for i := range columns {
		v, rest, err := readValue(b)
		if err != nil {
			return err
		}
		if n, ok := v.(int64); ok && columns[i].boolean {
			v = n != 0
		}
		values[i], b = v, rest
	}
	if len(b) > 0 {
		return errGarbled
	}
	return nil
}

func readValue(b []byte) (v any, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errGarbled
	}
	is, b := b[0], b[1:]
	switch is {
	case isNull:
		return nil, b, nil
	case isInt:
		if n, size := binary.Varint(b); size > 0 {
			return n, b[size:], nil
		}
	case isReal:
		if len(b) >= 8 {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), b[8:], nil
		}
	case isText, isBytes:
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			break
		}
		data, rest := b[size:size+int(n)], b[size+int(n):]
		if is == isText {
			return string(data), rest, nil
		}
		return append([]byte{}, data...), rest, nil
	}
	return nil, nil, errGarbled
}

// rows hands each row of a table to do, in order and encoded; it holds until do returns.
func (tb *table) rows(t *database.Tx, columns []column, do func(row []byte) error) error {
	rows, err := t.Q.Query(tb.ordered(t, columns))
	if err != nil {
		return err
	}
	defer rows.Close()
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	var row []byte
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if row, err = appendRow(row[:0], columns, values); err != nil {
			return fmt.Errorf("table %s: %w", tb.name, err)
		}
		if err := do(row); err != nil {
			return err
		}
	}
	return rows.Err()
}
