package logs

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
	settings := configs.Defaults()
	settings.Log.Format = "json"
	New(&out, false, settings)
	log.Printf("http: TLS handshake error")
	if text := out.String(); !strings.HasPrefix(text, "{") || !strings.Contains(text, "http: TLS handshake error") {
		t.Errorf("%q", text)
	}
}
