package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
)

// keepsTrying is what a person reads of a model that is away.
const keepsTrying = "The language model does not answer. I will keep trying."

// A model is away for half a minute and longer, and an engine is killed meanwhile: every message is
// answered in its order, the person reads one line of it, and nothing is done twice.
func TestModelThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		people := []string{"u1", "u2", "u3"}
		r := programtest.NewRig(t, people, "[router]\nrate_person = \"off\"\nworkers = 4\n[agent]\nplanner = \"fake/model\"\nturn_timeout = \"20s\"\n")
		r.Up()
		waitedFor(t, r, func() {
			r.Kill()
			r.Up()
		})
	})
	t.Run("two engines", func(t *testing.T) {
		t.Parallel()
		f := programtest.TwoEngines(t, "workers = 4\n", "u1", "u2", "u3")
		f.Up()
		waitedFor(t, f.Rig, func() { // the engine that is left takes the channel over
			f.Holder("play").Kill()
		})
	})
}

// waitedFor is the model's outage, with an engine killed while the turns wait.
func waitedFor(t *testing.T, r *programtest.Rig, kill func()) {
	t.Helper()
	var away atomic.Bool
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		text := programtest.Said(req)
		switch {
		case away.Load() && (req.Role != "planner" || text != "count"):
			if text == "second" {
				t.Error("the second message is asked for before the first is answered")
			}
			return llmtest.Fail(503, "server_error", "", "down")
		case text == "count" || req.Role != "planner":
			return programtest.Doing("echo once >> count.txt")(req)
		}
		return programtest.Echo(req)
	})
	away.Store(true)
	began := time.Now()
	r.Platform.Say("cu1", "u1", "first")
	r.Platform.Say("cu1", "u1", "second")
	r.Platform.Say("cu2", "u2", "never mind")
	r.Platform.Say("cu3", "u3", "count")
	for _, text := range []string{"first", "never mind", "count"} {
		r.Await(text+" waits for the model", 20*time.Second, func() bool {
			return slices.ContainsFunc(r.Turns(), func(v turns.Turn) bool { return v.Text == text && v.NextTry != nil })
		})
	}
	r.Await("never mind is not tried again in the next moment", 20*time.Second, func() bool {
		return slices.ContainsFunc(r.Turns(), func(v turns.Turn) bool {
			return v.Text == "never mind" && v.NextTry != nil && time.Until(*v.NextTry) > 2*time.Second
		})
	})
	if got := r.Ask("u2", "/cancel"); got != "Cancelled." { // before its person is told of the outage
		t.Errorf("/cancel is answered %q", got)
	}
	if turn := r.TurnOf("never mind"); turn.State != "cancelled" {
		t.Errorf("the turn that was cancelled is %s", turn.State)
	}
	r.Await("/status says that it waits", 20*time.Second, func() bool { // not while it is tried again
		return strings.Contains(r.Ask("u1", "/status"), "so this waits (turn ")
	})
	out, _, _ := r.Command("explain", "turn", fmt.Sprint(r.TurnOf("first").ID))
	if !strings.Contains(out, "model away") {
		t.Errorf("explain says\n%s", out)
	}
	kill()
	told := func(user string) (n int) {
		for _, text := range r.Shown(user) {
			if strings.HasPrefix(text, keepsTrying) {
				n++
			}
		}
		return n
	}
	r.Await("the line is read", 90*time.Second, func() bool { return told("u1") == 1 && told("u3") == 1 })
	if since := time.Since(began); since < 20*time.Second {
		t.Errorf("told after %s", since)
	}
	away.Store(false)
	answers := func(user string) []string {
		return slices.DeleteFunc(r.Shown(user), func(text string) bool {
			return !strings.HasPrefix(text, "heard: ") && text != "It is done."
		})
	}
	r.Await("everything is answered", 90*time.Second, func() bool { return len(answers("u1")) >= 2 && len(answers("u3")) >= 1 })
	for user, want := range map[string][]string{"u1": {"heard: first", "heard: second"}, "u2": nil, "u3": {"It is done."}} {
		if got := answers(user); !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", user, r.Shown(user), want)
		}
		if n := told(user); n != min(len(want), 1) {
			t.Errorf("%s is told %d times: %q", user, n, r.Shown(user))
		}
	}
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "count.txt"))
	if len(files) != 1 {
		t.Fatalf("the command wrote %q", files)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "once\n" {
		t.Errorf("the command ran: %q, %v", text, err)
	}
	for _, text := range []string{"first", "second", "count"} {
		if turn := r.TurnOf(text); turn.State != "done" || turn.Outcome != "answered" || turn.NextTry != nil {
			t.Errorf("%s ended %s (%s)", text, turn.State, turn.Outcome)
		}
	}
}
