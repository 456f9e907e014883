package sessions

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"switchboard/router/intake"
	"switchboard/store/database"
)

// What objectText writes is what the standard library would have said.
func TestObjectTextReadsAsJSONDoes(t *testing.T) {
	t.Parallel()
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](Object(nil)), rapid.Just[any]([]byte{0, 255}), rapid.Just[any](intake.OutcomeBusy),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }), rapid.Map(rapid.Int(), func(v int) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }), rapid.Map(rapid.Float64(), func(v float64) any { return v }),
		rapid.Map(rapid.String(), func(v string) any { return database.Clean(v) }),
		rapid.Map(rapid.StringMatching("[\"\\\\a\n\t\x7f<&é]*"), func(v string) any { return v }),
	)
	flat := rapid.MapOf(rapid.StringMatching(`[a-z_]{1,8}`), leaf)
	rapid.Check(t, func(t *rapid.T) {
		v := flat.Draw(t, "object")
		v["list"] = rapid.SliceOf(flat).Draw(t, "list")
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if err := json.Unmarshal([]byte(ObjectText(v)), &got); err != nil {
			t.Fatalf("%v: %s", err, ObjectText(v))
		}
		if err := json.Unmarshal(want, &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Fatalf("%s, want %s", ObjectText(v), want)
		}
	})
}
