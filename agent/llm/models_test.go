package llm_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/internal/secrets"
)

// A server that repeats credentials in its answers must not bring them into
// errors, logs or the kept exchange.
func TestCredentialsStayOutOfErrorsAndLogs(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		return llmtest.Raw(http.StatusBadRequest, fmt.Sprintf(`{"error":"you sent %s and %s"}`,
			r.Header.Get("Authorization"), r.Header.Get("X-Api-Token")))
	})
	var log bytes.Buffer
	m, err := llm.New(llm.Config{Providers: map[string]llm.Provider{"local": {
		BaseURL: srv.URL(), APIKey: key, Headers: map[string]string{"X-Api-Token": "token-987"},
	}}}, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	resp, err := m.Complete(t.Context(), "local/x", question(nil))
	if err == nil || !strings.Contains(err.Error(), "[redacted] and [redacted]") {
		t.Errorf("error %v", err)
	}
	for what, text := range map[string]string{"error": fmt.Sprint(err), "log": log.String(), "exchange": fmt.Sprintf("%s", resp.Exchange.Response)} {
		if strings.Contains(text, key) || strings.Contains(text, "token-987") {
			t.Errorf("a credential stands in the %s: %s", what, text)
		}
	}
	if log.Len() == 0 {
		t.Error("nothing was logged")
	}
}

func TestCheckNamesWhatAModelLacks(t *testing.T) {
	t.Parallel()
	m, err := llm.New(llm.Config{
		Providers: map[string]llm.Provider{
			"open-router": {BaseURL: "https://openrouter.example/api/v1"},
			"keyed":       {APIKey: key},
			"keyless":     {BaseURL: "http://10.0.0.7:8000/v1", APIKey: llm.NoKey},
			"home":        {BaseURL: "http://[::1]:11434/v1"},
			"claude":      {Kind: "anthropic", APIKey: key},
			"mine":        {Kind: "offline"},
		},
		Models: map[string]llm.Model{"smart": {Model: "keyed/gpt", ContextTokens: 9000}, "calm": {Model: "offline"}},
	}, roundTrip(nil), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]struct {
		err  error
		says string
	}{
		"smart": {}, "calm": {}, "keyed/gpt": {}, "keyless/a/b": {}, "home/llama": {}, "offline": {}, "mine/x": {}, "mine": {},
		"open-router/x": {llm.ErrNoKey, `set llm.providers.open-router.api_key, for example api_key = "env:OPEN_ROUTER_API_KEY"`},
		"claude/opus":   {llm.ErrNotAvailable, `provider "claude": kind "anthropic" is not available in this build`},
		"nobody/x":      {llm.ErrUnknownModel, "[llm.providers]"},
		"smarter":       {llm.ErrUnknownModel, `"smarter"`},
		"keyed":         {llm.ErrUnknownModel, `"provider/model"`},
		"":              {llm.ErrUnknownModel, "[llm.models]"},
	} {
		err := m.Check(map[string]string{"planner": model})
		if !errors.Is(err, want.err) || want.err == nil && err != nil {
			t.Errorf("%q: error %v, want %v", model, err, want.err)
		}
		if err == nil {
			continue
		}
		if !strings.HasPrefix(err.Error(), "planner: model ") || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%q: error %q should say %q", model, err, want.says)
		}
		if _, got := m.Complete(t.Context(), model, question(nil)); !errors.Is(got, want.err) {
			t.Errorf("%q: Complete says %v, want %v", model, got, want.err)
		}
	}
	err = m.Check(map[string]string{"planner": "open-router/x", "worker": "smart", "reviewer": "claude/opus"})
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "planner: ") || !strings.HasPrefix(lines[1], "reviewer: ") {
		t.Errorf("joined: %v", err)
	}
	if got := []int{m.Length(t.Context(), "smart").Tokens, m.Length(t.Context(), "calm").Tokens, m.Length(t.Context(), "nothing").Tokens}; got[0] != 9000 || got[1] != 0 || got[2] != 32_000 {
		t.Errorf("context tokens %v", got)
	}
}

func TestKeyIsSentUnlessThereIsNone(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	for key, want := range map[secrets.Secret]string{"": "", llm.NoKey: "", "sk-1": "Bearer sk-1"} {
		m := models(t, srv.URL(), func(c *llm.Config) {
			p := c.Providers["local"]
			p.APIKey = key
			c.Providers["local"] = p
		})
		if _, err := m.Complete(t.Context(), "local/x", question(nil)); err != nil {
			t.Fatal(err)
		}
		all := srv.Requests()
		if got := all[len(all)-1].Header.Get("Authorization"); got != want {
			t.Errorf("key %q: sent %q, want %q", key.Reveal(), got, want)
		}
	}
}

// Other clients know variables of the environment; none of them may send a key or a
// prompt elsewhere than the settings say.
func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-ambient")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OPENAI_ORG_ID", "org-ambient")
	srv := llmtest.New(t)
	m := models(t, srv.URL(), func(c *llm.Config) {
		p := c.Providers["local"]
		p.APIKey = ""
		c.Providers["local"] = p
	})
	if _, err := m.Complete(t.Context(), "smart", question(nil)); err != nil {
		t.Fatal(err)
	}
	if h := srv.Requests()[0].Header; h.Get("Authorization") != "" || h.Get("OpenAI-Organization") != "" {
		t.Errorf("sent %v", h)
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	t.Parallel()
	_, err := llm.New(llm.Config{
		Providers: map[string]llm.Provider{"a": {Kind: "magic"}, "b": {BaseURL: "localhost:1"}, "offline": {Kind: "openai"}},
		Models:    map[string]llm.Model{"m": {Model: "zzz/x"}, "offline": {Model: "b/x"}, "t": {Model: "b/x", Temperature: ptr(3.0)}},
	}, nil, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"providers.a.kind", "providers.b.base_url", "providers.offline.kind", "models.m.model", "models.offline", "models.t.temperature"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}
