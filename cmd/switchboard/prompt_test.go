package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPromptCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, "")
	run := func(code int, args ...string) (out, errs string) {
		t.Helper()
		out, errs, got := r.command(append([]string{"prompt"}, args...)...)
		if got != code {
			t.Fatalf("prompt %v: exit %d\n%s%s", args, got, out, errs)
		}
		return out, errs
	}
	if out, _ := run(0, "list"); strings.Count(out, "built-in") != 6 || !strings.Contains(out, "planner") {
		t.Errorf("list:\n%s", out)
	}
	if out, errs := run(0, "diff"); out != "" || !strings.Contains(errs, "no prompt of your own") {
		t.Errorf("diff: %q, %q", out, errs)
	}
	dir := filepath.Join(r.dir, "data", "roles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "worker.md")
	if err := os.WriteFile(own, []byte("You are a pirate.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	views := list[[]struct{ Role, Prompt, Path string }](r, "prompt", "list", "--json")
	for _, v := range views {
		if (v.Role == "worker") != (v.Prompt == "own") {
			t.Errorf("%+v", v)
		}
	}
	if out, _ := run(0, "diff", "worker"); !strings.HasPrefix(out, "--- worker, built-in\n+++ "+own+"\n-") || !strings.Contains(out, "\n+You are a pirate.\n") {
		t.Errorf("diff:\n%s", out)
	}
	if _, errs := run(2, "diff", "pirate"); !strings.Contains(errs, "the roles are curator, paraphraser, planner") {
		t.Errorf("an unknown role: %s", errs)
	}
	out, _ := run(0, "reset", "worker")
	_, kept, _ := strings.Cut(strings.TrimSpace(out), "yours is kept in ")
	if text, err := os.ReadFile(kept); err != nil || string(text) != "You are a pirate.\n" {
		t.Errorf("reset says %q; %q, %v", out, text, err)
	}
	if _, err := os.Stat(own); !os.IsNotExist(err) {
		t.Errorf("the own prompt is in use still: %v", err)
	}
	if out, _ := run(0, "reset", "worker"); !strings.Contains(out, "built-in one already") {
		t.Errorf("reset again: %q", out)
	}
}
