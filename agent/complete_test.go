package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
)

func TestWorkOfNoTurnIsAskedUnderItsRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.DataDir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(w.opts.DataDir, "roles"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.opts.DataDir, "roles", "curator.md"), []byte("the operator's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	schema := &llm.Schema{Name: "look", JSON: []byte(`{}`)}
	w.cfg.Curator, w.cfg.Fallback = "small", []string{"small", "big"}
	w.answer = func(_ context.Context, model string, req llm.Request) (llm.Response, error) {
		if model == "small" {
			return llm.Response{}, llm.ErrAway
		}
		if req.System != "the operator's own\n" || req.Role != "curator" || req.Timeout != w.cfg.LLMTimeout {
			t.Errorf("asked %+v", req)
		}
		return llm.Response{Text: "{\"a\x00", Finish: "length"}, llm.ErrUnavailable
	}
	a := w.agent()
	ask := a.Asker(func(m Models) Models { return m })
	response, err := ask.Complete(t.Context(), memory.RoleCurator, llm.Request{User: "x", Schema: schema})
	if err != nil || response.Text != `{"a` || !slices.Equal(w.models, []string{"small", "big"}) {
		t.Errorf("%+v, %v, asked %q", response, err, w.models)
	}
	a.opts.Length = func(context.Context, string) llm.Length { return llm.Length{Tokens: 2, Answer: 1} }
	if _, err = ask.Complete(t.Context(), memory.RoleCurator, llm.Request{System: "many words of a prompt", User: "x", Schema: schema}); !errors.Is(err, llm.ErrContextTooLong) || len(w.models) > 2 {
		t.Errorf("too long: %v, asked %q", err, w.models)
	}
}
