package chat_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// A new user, in the terminal, without a language model: what they have remembered is there after a restart, can be corrected, and is
// gone when they say so.
func TestItKnowsYouTomorrow(t *testing.T) {
	t.Parallel()
	for kind, url := range map[string]func(testing.TB) string{"sqlite": nil, "postgres": storetest.PostgresURL} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := programtest.Bare(t)
			if url != nil {
				testkit.Write(t, r.Config, fmt.Sprintf("data_dir = %q\n[store]\nurl = %q\n", filepath.Join(r.Dir, "data"), url(t)))
			}
			knowsYou(t, r)
		})
	}
}

func knowsYou(t *testing.T, r *programtest.Rig) {
	t.Helper()
	says := func(line string, want, never string) {
		t.Helper()
		out, errs, code := r.CommandWith(line+"\n", "chat") // each is a process of its own
		if code != 0 || !strings.Contains(out, want) || never != "" && strings.Contains(out, never) {
			t.Errorf("%s: exit %d, says %q, want %q\n%s", line, code, out, want, errs)
		}
	}
	const question = "when does the deploy key rotate?"
	says("remember that the deploy key rotates on Fridays", "I'll remember: the deploy key rotates on Fridays", "")
	says(question, "the deploy key rotates on Fridays", "")
	says("no, it is Thursday", "I'll remember: the deploy key rotates on Thursday", "")
	says(question, "the deploy key rotates on Thursday", "Friday")
	says("what do you know about me?", "the deploy key rotates on Thursday", "Friday")
	says(question, "the deploy key rotates on Thursday", "Friday")
	says("forget it", "Forgotten: the deploy key rotates on Thursday", "")
	says(question, "", "rotates")
}
