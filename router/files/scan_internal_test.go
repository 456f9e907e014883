package files

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/testkit"
)

func TestFileIsTakenOnlyWhenTheScannerFindsNothing(t *testing.T) {
	t.Parallel()
	script := func(body string) string {
		file := filepath.Join(t.TempDir(), "scan")
		testkit.Program(t, file, "#!/bin/sh\n"+body)
		return file
	}
	looks := script("grep -q EVIL \"$2\" || exit 0\necho\necho \"$1: Evil.Test\tFOUND\"; echo more >&2; exit 1\n")
	for name, tc := range map[string]struct {
		command, content, why string
	}{
		"clean":        {looks + " --quick", "good", ""},
		"found":        {looks + " --quick", "EVIL", "the scanner says: --quick: Evil.Test FOUND"},
		"silent":       {script("exit 3"), "x", "without a word (exit status 3)"},
		"killed":       {script("kill -9 $$"), "x", "without a word (signal: killed)"},
		"missing":      {"/nowhere/scan", "x", "could not be run"},
		"no shell":     {"/bin/true;exit", "x", "could not be run"},
		"hangs":        {script("sleep 60 & sleep 60"), "x", "did not come to an end within 300ms"},
		"no variables": {script(`test -z "$(env | grep -v -E '^(PATH|HOME|LANG|TZ|TMPDIR|PWD|OLDPWD|SHLVL|_)=')"`), "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFileRig(t, tc.content, tc.command)
			if name == "hangs" {
				r.now.Load().scanner.timeout = 300 * time.Millisecond
			}
			id := r.came("a.txt")
			began := time.Now()
			_, text, err := r.read(id)
			if time.Since(began) > 50*time.Second { // the command would be over after 60
				t.Errorf("took %s", time.Since(began))
			}
			if tc.why == "" {
				if err != nil || text != tc.content {
					t.Errorf("read %q, %v", text, err)
				}
				return
			}
			if !errors.Is(err, tools.ErrFileRefused) || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("read: %v, want %q", err, tc.why)
			}
			if a := r.rows.row(id); a.State != AttachmentQuarantined || !strings.Contains(a.Reason, tc.why) {
				t.Errorf("row %+v", a)
			}
			if _, err := r.Publish(context.Background(), tools.Session{ID: home}, "a", "", strings.NewReader(tc.content)); !errors.Is(err, tools.ErrFileRefused) {
				t.Errorf("published: %v", err)
			}
		})
	}
}

// A stop of the engine says nothing of the file.
func TestScanBrokenOffDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "x", "/bin/sleep 60")
	r.now.Load().scanner.command = []string{"/bin/sh", "-c", "sleep 60"}
	id := r.came("a.txt")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := r.Open(ctx, tools.Session{ID: home}, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if a := r.rows.row(id); a.State != AttachmentReferenced {
		t.Errorf("row %+v", a)
	}
}
