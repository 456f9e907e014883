package main

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"

	"switchboard/configs"
)

// What a library writes to the log of the standard library is a line of ours.
func TestLibrariesLogIntoTheLog(t *testing.T) {
	was, writer, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() { slog.SetDefault(was); log.SetOutput(writer); log.SetFlags(flags) }()
	var out bytes.Buffer
	a := &app{streams: streams{err: &out}}
	settings := configs.Defaults()
	settings.Log.Format = "json"
	a.logger(settings)
	log.Printf("http: TLS handshake error")
	if text := out.String(); !strings.HasPrefix(text, "{") || !strings.Contains(text, "http: TLS handshake error") {
		t.Errorf("%q", text)
	}
}

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
