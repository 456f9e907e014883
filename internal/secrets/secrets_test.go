package secrets_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"switchboard/internal/secrets"
)

func TestSecretCannotBePrinted(t *testing.T) {
	t.Parallel()
	secret := secrets.Secret("hunter2")
	held := struct{ Token secrets.Secret }{secret}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		for _, value := range []any{secret, held, &held, []secrets.Secret{secret}} {
			got := fmt.Sprintf(verb, value)
			if strings.Contains(got, "hunter2") || strings.Contains(strings.ToLower(got), "68756e746572") || strings.Contains(got, "hun") {
				t.Errorf("%s of %T shows %q", verb, value, got)
			}
		}
	}
	encoded, err := json.Marshal(held)
	if err != nil || strings.Contains(string(encoded), "hunter2") {
		t.Errorf("JSON: %s, %v", encoded, err)
	}
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "secret", secret, "held", held)
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log has %s", &log)
	}
	if secret.Reveal() != "hunter2" {
		t.Error("Reveal does not")
	}
}
