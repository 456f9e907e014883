package crash_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// The program is killed at any moment after a button was pressed: its command is done once, and
// answered once.
func TestButtonsOutliveKills(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "buttons = true\nfinder = true\nrich = true\n[router]\nrate_person = \"off\"\n")
	r.Up()
	r.Ask("u1", "/mode") // has the button "ask", the answer to which has "act", and so on
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	fate := rand.New(rand.NewPCG(seed, 1))
	const presses = 12
	for i := range presses {
		r.Platform.Press("cu1", "u1", []string{"ask", "act"}[i%2])
		time.Sleep(time.Duration(fate.IntN(30)) * time.Millisecond)
		r.Kill()
		r.Up()
		r.Await("it is answered", programtest.Patience, func() bool { return len(r.Shown("u1")) == i+2 })
	}
	r.Noted()
	for i, text := range r.Shown("u1")[1:] {
		if want := []string{"Mode: ask", "Mode: act"}[i%2]; !strings.HasPrefix(text, want) {
			t.Errorf("press %d is answered %q", i, text)
		}
	}
	out, errs, _ := r.Command("audit", "export")
	if n := strings.Count(out, `"session.mode"`); n != presses || len(r.Shown("u1")) != presses+1 {
		t.Errorf("done %d times, answered %d times: %s", n, len(r.Shown("u1"))-1, errs)
	}
}
