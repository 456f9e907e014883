package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The unit of the guide for a first server is one that systemd takes, and starts the program again for ever.
func TestUnitOfTheGuideIsTaken(t *testing.T) {
	t.Parallel()
	_, unit, found := strings.Cut(read(t, "docs/first-server.md"), "```ini\n")
	unit, _, closed := strings.Cut(unit, "```")
	if !found || !closed {
		t.Fatal("the guide has no unit")
	}
	for _, line := range []string{"Restart=always", "RestartSec=5", "StartLimitIntervalSec=0", "Delegate=memory pids cpu", "DelegateSubgroup=engine"} {
		if !strings.Contains(unit, line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	// What the unit names has to be there.
	dir := t.TempDir()
	program := filepath.Join(dir, "switchboard")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	unit = strings.ReplaceAll(strings.ReplaceAll(unit, "/usr/local/bin/switchboard", program), "User=switchboard", "User=root")
	file := filepath.Join(dir, "switchboard.service")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(verify, "verify", "--man=no", "--generators=no", file).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "DelegateSubgroup") { // which systemd has since 254
			t.Errorf("systemd-analyze: %s", line)
		}
	}
	t.Logf("systemd-analyze ended with %v:\n%s", err, out)
}
