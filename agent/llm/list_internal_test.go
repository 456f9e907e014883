package llm

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
)

// One server lists its models to its own header, and is told in words which form is wanted.
func TestServerWithHabitsOfItsOwn(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]struct {
		header string
		format format
	}{
		"https://api.anthropic.com/v1": {"X-Api-Key", promptOnly},
		"https://host.example/v1":      {"Authorization", strictSchema},
	} {
		cfg := Provider{Kind: kindOpenAI, BaseURL: base, APIKey: "k"}
		address, err := listAddress(cfg)
		var req *http.Request
		_, _, _ = get(t.Context(), func(asked *http.Request) (*http.Response, error) {
			req = asked
			return nil, errors.New("there is no server")
		}, cfg, address)
		if err != nil || req.URL.String() != base+"/models" || req.Header.Get(want.header) == "" || req.Header.Get("X-Api-Key") != "" && req.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v, %v", base, req, err)
		}
		if got := newProvider("p", cfg, nil, nil, slog.New(slog.DiscardHandler)).mode("m").format; got != want.format {
			t.Errorf("%s is asked with %s", base, got)
		}
	}
}
