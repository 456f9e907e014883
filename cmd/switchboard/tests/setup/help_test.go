package setup_test

import (
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

// Help says what may be given, and what a command's end means.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	for command, wants := range map[string][]string{
		"turn list":     {"queued, running, waiting, done, failed, cancelled or merged"},
		"delivery list": {"draft, pending, sending, sent, unknown, dead or dropped"},
		"":              {"Set up and run serve", "People, settings and jobs config", "The data migrate"},
		"chat":          {"exits with 0 when every line was answered", "is an answer"},
		"config show":   {"switchboard init"},
		"job edit":      {"--overlap", "\"default\" takes the option away"},
	} {
		out, errs, code := r.Command(append(strings.Fields(command), "--help")...)
		words := strings.Join(strings.Fields(out), " ")
		for _, want := range wants {
			if code != 0 || !strings.Contains(words, want) {
				t.Errorf("%s --help lacks %q: exit %d\n%s%s", command, want, code, out, errs)
			}
		}
	}
	for _, command := range []string{"", "job", "job add"} {
		asked, _, _ := r.Command(strings.Fields(command + " --help")...)
		if out, errs, code := r.Command(strings.Fields("help " + command)...); out != asked || code != 0 {
			t.Errorf("help %s: exit %d\n%s%s", command, code, out, errs)
		}
	}
	if _, errs, code := r.CommandWith("hello\n", "chat"); code != 0 {
		t.Fatal(errs)
	}
	for _, state := range []string{"queued", "running", "waiting", "done", "failed", "cancelled", "merged"} {
		if out, errs, code := r.Command("turn", "list", "--state", state); code != 0 {
			t.Errorf("%s: exit %d\n%s%s", state, code, out, errs)
		}
	}
	r.Prints("turn show 1", 0, "Cost: 1 model call, ")
}
