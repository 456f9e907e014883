package turns

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Rows that were read along are what encoding/json makes of them.
func FuzzRowsReadAlong(f *testing.F) {
	for _, list := range []string{
		`null`, ``, `[]`, `[[]]`, `[[1, "a", true]]`, `[["x", -5, false],["x",0,true] , ["\"\\ é\u2028\n]", 9223372036854775807, false]]`,
		`[[1]]`, `[1]`, `[["a", null, true]]`, `[["a", 1.5, true]]`, `[["a", 1, {"b": ["]", 1]}]]`, `[["a",1,true,2]]`, `[[5, 1, true]]`,
	} {
		f.Add(list)
	}
	type row struct {
		Text kind
		N    int64
		Is   bool
	}
	f.Fuzz(func(t *testing.T, list string) {
		var raw [][]json.RawMessage
		if !utf8.ValidString(list) || list != "" && json.Unmarshal([]byte(list), &raw) != nil {
			t.Skip("the server writes lists of lists, in UTF-8")
		}
		rows := rowsOf([]byte(list), "text", "n", "is")
		for i, each := range raw {
			if !rows.Next() {
				t.Fatalf("row %d of %d is missing", i+1, len(raw))
			}
			var got, want row
			err := rows.Scan(&got.Text, &got.N, &got.Is)
			ok := len(each) == 3
			for j, to := range []any{&want.Text, &want.N, &want.Is} {
				ok = ok && string(each[j]) != "null" && json.Unmarshal(each[j], to) == nil
			}
			if ok != (err == nil) {
				t.Fatalf("row %d: %v, which json reads: %v", i+1, err, ok)
			}
			if ok && !reflect.DeepEqual(got, want) {
				t.Errorf("row %d: %+v, not %+v", i+1, got, want)
			}
		}
		if rows.Next() {
			t.Errorf("a row more than %d: %s", len(raw), "")
		}
	})
}

type kind string

// The function reads the same columns in the same order.
func TestReadAlongReadsTheColumnsOfLoad(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../hot_transactions.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(raw), " FUNCTION sb_load(")
	body, _, _ = strings.Cut(body, "END $$")
	plain := func(s string) string {
		s = regexp.MustCompile(`\b(v|p)_[a-z_]+`).ReplaceAllString(s, "?")
		return strings.Join(strings.Fields(s), " ")
	}
	_, columns, _ := strings.Cut(loadTurn, "SELECT")
	columns, _, _ = strings.Cut(columns, "FROM turns t JOIN sessions")
	for name, query := range map[string]string{"loadTurn": columns, "loadRecent": loadRecent} {
		if !strings.Contains(plain(body), plain(query)) {
			t.Errorf("sb_load does not read %s as it is:\n%s", name, plain(query))
		}
	}
}
