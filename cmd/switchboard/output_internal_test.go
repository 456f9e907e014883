package main

import (
	"bytes"
	"testing"
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
