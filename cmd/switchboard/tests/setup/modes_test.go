package setup_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// Who may open the socket is the owner, and what people wrote is in the files.
func TestOnlyTheOwnerMayOpenWhatTheEngineKeeps(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	if out, errs, code := r.CommandWith("alone\n", "chat"); code != 0 { // an engine of its own, which keeps a log file
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	r.Up()
	r.Answers("u1", "hello", "heard: hello")
	data := filepath.Join(r.Dir, "data")
	for pattern, want := range map[string]fs.FileMode{
		"": 0o700, "run": 0o700, "run/*.sock": 0o600, "switchboard.db": 0o600, "switchboard.db-wal": 0o600, "switchboard.db.lock": 0o600, "switchboard.log": 0o600,
		"workspaces": 0o700, "workspaces/*": 0o700,
	} {
		paths, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil || len(paths) == 0 {
			t.Errorf("no %s in the data folder, %v", pattern, err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Error(err)
			} else if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has the mode %o, want %o", path, got, want)
			}
		}
	}
}

// Lines in a pipe to the engine itself would vanish; it says who answers them.
func TestServeSaysThatItReadsNoInput(t *testing.T) {
	t.Parallel()
	const told = "standard input is not read"
	r := programtest.Bare(t)
	r.Up() // with no input
	r.Stop(10 * time.Second)
	if r.Log.Has(told) {
		t.Errorf("with no input:\n%s", r.Log)
	}
	cmd := exec.Command(programtest.Build(t), "--config", r.Config, "serve")
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdin = r.Dir, programtest.Environ(), r.Log, strings.NewReader("hello?\n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Await("it says so", 15*time.Second, func() bool { return r.Log.Has("switchboard chat") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.Count(r.Log.String(), told) != 1 {
		t.Errorf("%v\n%s", err, r.Log)
	}
}
