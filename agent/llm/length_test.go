package llm_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// How much a model reads is what the settings say, else what its server says, else what is surely little.
func TestLengths(t *testing.T) {
	t.Parallel()
	ollama, silent := llmtest.New(t), llmtest.New(t)
	ollama.RequireKey("k")
	ollama.Forgets(8192, func(text string) int { return len(text) / 4 })
	ollama.Lists("m") // where it would say what the model was trained with
	silent.Reads(0)
	silent.Lists("m")
	list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"other"},{"id":"router","context_length":200000,"top_provider":{"context_length":65536}},{"id":"vllm","max_model_len":16384},
			{"id":"groq","context_window":131072},{"id":"mistral","max_context_length":"32768"},{"id":"claude","max_input_tokens":1000000}]}`))
	}))
	t.Cleanup(list.Close)
	m, err := llm.New(llm.Config{
		Providers: map[string]llm.Provider{
			"ollama": {BaseURL: ollama.URL(), APIKey: "k"}, "silent": {BaseURL: silent.URL()}, "list": {BaseURL: list.URL + "/v1"},
			"away": {BaseURL: "http://127.0.0.1:1/v1"}, "far": {BaseURL: "http://models.invalid/v1", APIKey: llm.NoKey},
		},
		Models: map[string]llm.Model{
			"set": {Model: "ollama/m", ContextTokens: 9000}, "small": {Model: "ollama/m", ContextTokens: 2000},
			"much": {Model: "ollama/m", MaxOutputTokens: 3000},
		},
	}, roundTrip(nil), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model string
		want  llm.Length
	}{
		{"set", llm.Length{Tokens: 9000, Answer: 2250}},
		{"small", llm.Length{Tokens: 2000, Answer: 500}},
		{"ollama/m", llm.Length{Tokens: 4096, Answer: 1024}},
		{"silent/m", llm.Length{Tokens: 4096, Answer: 1024}},
		{"list/router", llm.Length{Tokens: 65536, Answer: 4096}},
		{"list/vllm", llm.Length{Tokens: 16384, Answer: 4096}},
		{"list/groq", llm.Length{Tokens: 131072, Answer: 4096}},
		{"list/mistral", llm.Length{Tokens: 32768, Answer: 4096}},
		{"list/claude", llm.Length{Tokens: 1_000_000, Answer: 4096}},
		{"list/other", llm.Length{Tokens: 4096, Answer: 1024}},
		{"away/m", llm.Length{Tokens: 4096, Answer: 1024}},
		{"far/m", llm.Length{Tokens: 32_000, Answer: 4096}},
		{"nobody", llm.Length{Tokens: 32_000, Answer: 4096}},
		{"offline", llm.Length{}},
	} {
		if got := m.Length(t.Context(), tt.model); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.model, got, tt.want)
		}
	}
	// Ollama loads a model when it is used.
	if _, err := m.Complete(t.Context(), "ollama/m", question(nil)); err != nil {
		t.Fatal(err)
	}
	if got := m.Length(t.Context(), "ollama/m"); got != (llm.Length{Tokens: 8192, Answer: 2048}) {
		t.Errorf("loaded: %+v", got)
	}
	if got := m.Length(t.Context(), "much"); got != (llm.Length{Tokens: 8192, Answer: 2048}) {
		t.Errorf("much: %+v", got)
	}
	// An answer gets no more than that.
	if _, err := m.Complete(t.Context(), "much", question(nil)); err != nil {
		t.Fatal(err)
	}
	if req := ollama.Requests(); req[0].MaxTokens != 1024 || req[1].MaxTokens != 2048 {
		t.Errorf("max_tokens %d, %d", req[0].MaxTokens, req[1].MaxTokens)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, strings.Repeat("a", 50): 12, "größe": 3, "日本語": 4, "2026-11-27": 6} {
		if got := llm.Tokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
