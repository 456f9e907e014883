package setup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

// The doctor runs the scanner, and says what every file would meet.
func TestDoctorTriesTheScanner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, body string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for what, c := range map[string]struct {
		command string
		code    int
		want    string
	}{
		"none":           {"", 0, ""},
		"clean":          {script("clean", `test "$1" = --quiet && test -f "$2" && test ! -s "$2"`, 0o700) + " --quiet", 0, "an empty file is clean"},
		"refuses":        {script("refuses", "echo no signatures; exit 2", 0o700), 1, "held back: the scanner says: no signatures"},
		"not there":      {filepath.Join(dir, "nothing"), 1, "no such file"},
		"not executable": {script("plain", "exit 0", 0o600), 1, "permission denied"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			extra := ""
			if c.command != "" {
				extra = fmt.Sprintf("[files]\nscan_command = %q\n", c.command)
			}
			r := programtest.NewRig(t, nil, extra)
			out, errs, code := r.Command("doctor")
			if code != c.code || strings.Contains(out, "scan_command") != (c.command != "") || !strings.Contains(out, c.want) {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if c.code != 0 && (!strings.Contains(out, "FAIL  files") || !strings.Contains(out, "every file is held back")) {
				t.Errorf("it does not say what to do:\n%s", out)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Dir, "data", ".doctor-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
