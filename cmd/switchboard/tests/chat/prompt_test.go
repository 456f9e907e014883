package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

func TestPromptCommandsListDiffAndReset(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "")
	run := func(code int, args ...string) (out, errs string) {
		t.Helper()
		out, errs, got := r.Command(append([]string{"prompt"}, args...)...)
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
	dir := filepath.Join(r.Dir, "data", "roles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "worker.md")
	testkit.Write(t, own, "You are a pirate.\n")
	views := programtest.List[[]struct{ Role, Prompt, Path string }](r, "prompt", "list", "--json")
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

// A file among the prompts that does nothing, or keeps everything from starting, is told
// of with its mend; what "prompt reset" keeps is not.
func TestPromptFilesThatDoNothingAreReported(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	dir := filepath.Join(r.Dir, "data", "roles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nobody.md": "You are lost.", "worker.md.20260102-030405.000": "old", "planner.md~": "x", ".planner.md.swp": "x"} {
		testkit.Write(t, filepath.Join(dir, name), text)
	}
	out, errs, code := r.Command("prompt", "list")
	want := filepath.Join(dir, "nobody.md") + " is no role's prompt, so nobody reads it; name it after its role (curator, paraphraser, planner, reviewer, summarizer, worker) with .md, or remove it"
	if code != 0 || strings.Count(out, "built-in") != 6 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, want) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if out, errs, code := r.CommandWith("hello\n", "chat"); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if log, err := os.ReadFile(filepath.Join(r.Dir, "data", "switchboard.log")); err != nil || !strings.Contains(string(log), "nobody.md") {
		t.Errorf("the log says nothing: %v\n%s", err, log)
	}

	empty := filepath.Join(dir, "planner.md")
	testkit.Write(t, empty, " \n")
	out, errs, code = r.Command("prompt", "list")
	if code != 0 || !strings.Contains(errs, empty+" is empty, and nothing starts with it; write the prompt of the planner into it, or remove it") || !strings.Contains(out, "empty") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = r.Command("doctor")
	if code != 1 || !strings.Contains(out, "FAIL  prompts    "+empty+" is empty") || !strings.Contains(out, "WARN  prompts    "+filepath.Join(dir, "nobody.md")) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if out, errs, code := r.CommandWith("hello\n", "chat"); code == 0 || !strings.Contains(errs, "planner.md is empty; write the prompt into it, or remove it") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
