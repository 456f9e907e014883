package admin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// Commands that only read work where nothing can be written: on a read-only folder and on
// a full disk, after an engine that ended and after one that was killed.
func TestCommandsReadWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"full", "read-only"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			r := programtest.Bare(t)
			data := filepath.Join(r.Dir, "data")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			storetest.SmallDisk(t, data, "size=12m")
			if out, errs, code := r.CommandWith("hello\n", "chat"); code != 0 {
				t.Fatalf("chat: exit %d, %q\n%s", code, out, errs)
			}
			if out, _, _ := r.Command("doctor"); !strings.Contains(out, "ok    data ") {
				t.Errorf("doctor on a small disk with room:\n%s", out)
			}
			if place == "full" {
				_ = os.WriteFile(filepath.Join(data, "ballast"), make([]byte, 16<<20), 0o600) // as much as fits
			} else {
				storetest.ReadOnly(t, data)
			}
			for line, want := range map[string]string{
				"turn list": "hello", "turn show 1": "hello", "explain turn 1": "owner", "delivery list": "console",
				"channel list": "console", "channel rejected": "REASON", "person list": "owner", "person refused": "RULE",
				"config check": "", "config show": "retention",
			} {
				out, errs, code := r.Command(strings.Fields(line)...)
				if code != 0 || !strings.Contains(out, want) {
					t.Errorf("%s: exit %d, stdout %q, stderr %q", line, code, out, errs)
				}
			}
			_, errs, _ := r.Command("turn", "list")
			if place == "read-only" && !strings.Contains(errs, "may have added since") {
				t.Errorf("nothing is said of where this comes from: %q", errs)
			}
			r.Prints("doctor", 1, "ok    settings", "FAIL  data ", "database")
		})
	}
}
