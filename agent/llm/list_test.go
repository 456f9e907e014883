package llm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

func TestListNamesTheModelsNewestFirst(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.RequireKey(key)
	srv.Lists("new", "vendor/old")
	got, err := llm.List(t.Context(), llm.Provider{BaseURL: srv.URL(), APIKey: key})
	if err != nil || !slices.Equal(got, []string{"new", "vendor/old"}) {
		t.Errorf("%q, %v", got, err)
	}
	_, err = llm.List(t.Context(), llm.Provider{BaseURL: srv.URL(), APIKey: "wrong-" + key})
	if !errors.Is(err, llm.ErrUnauthorized) || strings.Contains(err.Error(), key) {
		t.Errorf("a wrong key: %v", err)
	}
}

func TestListOfServersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		err    error
	}{
		"no list":          {http.StatusNotFound, "", nil},
		"ill":              {http.StatusBadGateway, "<html>", llm.ErrUnavailable},
		"something else":   {http.StatusOK, "<html>", llm.ErrUnavailable},
		"other JSON":       {http.StatusOK, `{"ok":true}`, llm.ErrUnavailable},
		"elsewhere":        {http.StatusFound, "", llm.ErrUnavailable},
		"refused as a 400": {http.StatusBadRequest, `{"error":{"message":"API key not valid."}}`, llm.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			t.Cleanup(srv.Close)
			got, err := llm.List(t.Context(), llm.Provider{BaseURL: srv.URL, APIKey: key})
			if got != nil || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if _, err := llm.List(t.Context(), llm.Provider{BaseURL: "http://127.0.0.1:1"}); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("nobody there: %v", err)
	}
}
