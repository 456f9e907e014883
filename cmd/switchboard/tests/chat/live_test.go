//go:build live

package chat_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
)

// The scenarios here talk to a real provider when its key is in the environment:
// OPENROUTER_API_KEY (OPENROUTER_MODEL names the model) or OPENAI_API_KEY
// (OPENAI_MODEL). They hold the program to states and verdicts, not to words.

// onLive is a rig whose planner is the real model; without a key the test is
// skipped, and says so.
func onLive(t *testing.T) *programtest.Rig {
	t.Helper()
	for _, p := range []struct{ name, url, key, model string }{
		{"openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", cmp.Or(os.Getenv("OPENROUTER_MODEL"), "openai/gpt-4o-mini")},
		{"openai", "https://api.openai.com/v1", "OPENAI_API_KEY", cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini")},
	} {
		if os.Getenv(p.key) == "" {
			continue
		}
		r := programtest.NewRig(t, nil, fmt.Sprintf("[agent]\nplanner = %q\n[llm.providers.%s]\nkind = \"openai\"\nbase_url = %q\napi_key = \"env:%s\"\n",
			p.name+"/"+p.model, p.name, p.url, p.key))
		t.Logf("model %s/%s", p.name, p.model)
		return r
	}
	fmt.Fprintf(os.Stderr, "\n*** %s IS SKIPPED: set OPENROUTER_API_KEY or OPENAI_API_KEY to run it against a real provider ***\n\n", t.Name())
	t.Skip("no key of a provider")
	return nil
}

// tell has the owner write lines and returns the turns, oldest first, whole.
func tell(r *programtest.Rig, session string, lines ...string) (list []turns.Turn) {
	r.T.Helper()
	began := time.Now()
	out, errs, code := r.CommandWith(strings.Join(lines, "\n")+"\n", "chat", "--session", session)
	r.T.Logf("%s\n%s%s", time.Since(began).Round(time.Millisecond), errs, out)
	if code != 0 {
		r.T.Fatalf("exit %d", code)
	}
	for _, turn := range r.Turns() {
		if strings.HasSuffix(turn.Session, "/"+session) {
			list = append(list, programtest.List[turns.Turn](r, "turn", "show", fmt.Sprint(turn.ID), "--json"))
		}
	}
	slices.Reverse(list)
	if len(list) != len(lines) {
		r.T.Fatalf("%d turns for %d messages", len(list), len(lines))
	}
	return list
}

// endedWell wants a turn that ended well: its last plan done, every task that acts
// reviewed ok. It returns that plan's tasks that act.
func endedWell(t *testing.T, turn turns.Turn) (acts []turns.Task) {
	t.Helper()
	if turn.State != "done" || turn.Outcome != "answered" || len(turn.Plans) == 0 {
		t.Fatalf("turn %d (%s) ended %s (%s) with %d plans", turn.ID, turn.Text, turn.State, turn.Outcome, len(turn.Plans))
	}
	if turn.TokensIn == 0 || turn.TokensOut == 0 {
		t.Errorf("turn %d has no usage", turn.ID)
	}
	for _, task := range turn.Plans[len(turn.Plans)-1].Tasks {
		if task.State != "done" {
			t.Errorf("turn %d: task %d is %s", turn.ID, task.Position+1, task.State)
		}
		if task.Type == "msg" {
			continue
		}
		if task.Review == nil || task.Review.Status != "ok" {
			t.Errorf("turn %d: task %d has the verdict %+v", turn.ID, task.Position+1, task.Review)
		}
		acts = append(acts, task)
	}
	return acts
}

func TestLiveLooksAtTheClockOfACity(t *testing.T) {
	t.Parallel()
	acts := endedWell(t, tell(onLive(t), "time", "What time is it in Tokyo right now?")[0])
	if !slices.ContainsFunc(acts, func(task turns.Task) bool { return strings.Contains(task.Output, "Asia/Tokyo") }) {
		t.Errorf("no task looked at the clock of Tokyo: %+v", acts)
	}
}

func TestLiveWritesAndReadsAFile(t *testing.T) {
	t.Parallel()
	r := onLive(t)
	word := "heliotrope-" + fmt.Sprint(time.Now().UnixNano()%1_000_000)
	list := tell(r, "file", "Write the single word "+word+" into a file called word.txt.", "Read word.txt and tell me what is in it.")
	if acts := endedWell(t, list[0]); len(acts) == 0 {
		t.Error("nothing was written by a task")
	}
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "word.txt"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(data), word) {
		t.Errorf("the file holds %q: %v", data, err)
	}
	acts := endedWell(t, list[1])
	if !slices.ContainsFunc(acts, func(task turns.Task) bool { return strings.Contains(task.Output, word) }) {
		t.Errorf("no task read the file: %+v", acts)
	}
}

func TestLiveRunsACommand(t *testing.T) {
	t.Parallel()
	acts := endedWell(t, tell(onLive(t), "command", "Run the shell command `echo $((1234 * 5678))` and tell me what it prints.")[0])
	if !slices.ContainsFunc(acts, func(task turns.Task) bool {
		return task.Type == "exec" && strings.Contains(task.Output, "7006652")
	}) {
		t.Errorf("no command printed the product: %+v", acts)
	}
}

func TestLiveAsksWhatIsAmbiguous(t *testing.T) {
	t.Parallel()
	turn := tell(onLive(t), "ask", "Delete it.")[0]
	if turn.State != "done" {
		t.Fatalf("the turn ended %s (%s)", turn.State, turn.Outcome)
	}
	for _, plan := range turn.Plans {
		for _, task := range plan.Tasks {
			if task.Type == "exec" || task.Tool == "workspace.write" {
				t.Errorf("it acted instead of asking: %+v", task)
			}
		}
	}
	var said string
	for _, m := range turn.Messages {
		if m.Direction == "out" {
			said = m.Text
		}
	}
	if turn.Outcome != "asked" && !strings.Contains(said, "?") {
		t.Errorf("the answer is no question: %q", said)
	}
}

// A simple question needs one call; a worker's text and a fault leave room for two
// more.
func TestLiveIsThrifty(t *testing.T) {
	t.Parallel()
	turn := tell(onLive(t), "thrift", "Say hello in Italian.")[0]
	if endedWell(t, turn); turn.Calls > 3 {
		t.Errorf("%d model calls for a greeting", turn.Calls)
	}
}
