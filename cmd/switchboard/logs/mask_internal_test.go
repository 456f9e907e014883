package logs

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"switchboard/configs"
	"switchboard/internal/secrets"
)

func TestLogsAreMasked(t *testing.T) {
	const value = `canary "of" the/log`
	for _, format := range []string{"text", "json"} {
		settings := configs.Defaults()
		settings.Log.Format, settings.Log.Level, settings.DataDir = format, "debug", t.TempDir()
		settings.Mask = secrets.NewMasker(value)
		var terminal bytes.Buffer
		former := slog.Default()
		file, err := Open(settings)
		if err != nil {
			t.Fatal(err)
		}
		for _, log := range []*slog.Logger{New(&terminal, false, settings), file.Log} {
			log.Error("it is "+value, "error", errors.New("no "+value), "text", value, "any", struct{ A string }{value},
				"base64", base64.StdEncoding.EncodeToString([]byte("x"+value)))
		}
		file.Close(&terminal)
		slog.SetDefault(former)
		written, err := os.ReadFile(file.Path)
		if err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"terminal": terminal.String(), "file": string(written)} {
			if strings.Contains(text, "canary") || strings.Contains(text, "the/log") || strings.Count(text, "[redacted]") != 5 {
				t.Errorf("%s, %s: %s", format, where, text)
			}
		}
	}
}
