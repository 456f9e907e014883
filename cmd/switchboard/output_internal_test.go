package main

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"switchboard/scheduler"
)

func TestJSONCommandsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printJSON(&out, "a\x1b[31m\u009b31m\x7f\u202eb\u2066 ä"); err != nil {
		t.Fatal(err)
	}
	if want := `"a\u001b[31m\u009b31m\u007f\u202eb\u2066 ä"` + "\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
}

func TestRowsOfNoneAreAnEmptyList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printRows(&out, true, "", []int(nil), nil); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestEachOptionOfAJobIsAFlag(t *testing.T) {
	t.Parallel()
	var given jobOptions
	flags := reflect.ValueOf(&given).Elem()
	for i := range flags.NumField() {
		flags.Field(i).Set(reflect.ValueOf(new("x")))
	}
	var want []string
	for _, o := range scheduler.Options {
		if o.Name != "timezone" { // a flag of its own
			want = append(want, o.Name+" x")
		}
	}
	if got := given.words(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhyARunCameToWhatItDid(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 11, 23, 20, 37, 36, 0, time.UTC)
	for want, run := range map[string]scheduler.Run{
		"":                                   {},
		"asked":                              {Reason: "asked", Count: 1},
		"2 times, to " + inZone(last, "UTC"): {Count: 2, Last: last},
		"2 times, to " + inZone(last, "UTC") + "; off": {Count: 2, Last: last, Reason: "off"},
	} {
		if got := whyRan(&run, "UTC"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
