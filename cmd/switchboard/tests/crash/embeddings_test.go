package crash_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// With a model of [embeddings] what means the same is in the prompt. With another model all is embedded once more, on through a kill, and
// doctor says how far it is; without a server that makes vectors there is an answer all the same.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	const memories = 200
	r := programtest.PlannedBy(t, "[embeddings]\nmodel = \"fake/small\"\n", searches, "u1")
	var mu sync.Mutex
	sent := map[string]int{} // how often each text went to the model "large"
	batches := 0
	r.Model.Embeds(0, func(req llmtest.Request) (llmtest.Reply, bool) {
		mu.Lock()
		defer mu.Unlock()
		if req.Model != "large" || len(req.Input) < 8 { // a trial, or a message
			return llmtest.Reply{}, false
		}
		for _, text := range req.Input {
			sent[text]++
		}
		batches++
		return llmtest.Hang(), batches == 3
	})
	var list []string
	for i := range memories - 1 {
		list = append(list, fmt.Sprintf(`{"kind": "fact", "scope": "person:u1", "person": "u1", "text": "note%d says nothing"}`, i))
	}
	archive := filepath.Join(r.Dir, "memories.json")
	testkit.Write(t, archive, `{"version": 1, "memories": [`+strings.Join(append(list, `{"kind": "fact", "scope": "person:u1", "person": "u1", "text": "The red automobile stays at Ida's"}`), ",")+`]}`)
	r.RanBefore()
	if out, errs, code := r.Command("memory", "import", archive); code != 0 {
		t.Fatalf("import: exit %d\n%s%s", code, out, errs)
	}
	r.Up()
	doctor := func(want string) func() bool {
		return func() bool {
			out, _, _ := r.Command("doctor")
			return strings.Contains(out, "embeddings") && strings.Contains(out, want)
		}
	}
	asks := func(text string) (prompt llmtest.Request) {
		t.Helper()
		r.Ask("u1", text)
		for _, req := range r.Model.Requests() {
			if req.Role == "planner" && strings.Contains(req.Section("New message"), text) {
				prompt = req
			}
		}
		return prompt
	}
	finds := func(text string) {
		t.Helper()
		for try := 1; ; try++ {
			p := asks(text)
			if strings.Contains(p.Section("Known facts"), "The red automobile stays at Ida's") {
				return
			}
			if late := strings.Count(r.Log.String(), "recalling by words alone"); late < try || try == 3 {
				t.Fatalf("what means the same is not in the prompt: %s", p.User)
			}
			time.Sleep(61 * time.Second) // a busy machine's model was late, and is not asked for a minute
		}
	}
	change := func(from, to string) {
		t.Helper()
		testkit.Write(t, r.Config, strings.Replace(testkit.Read(t, r.Config), from, to, 1))
	}

	r.Await("all is embedded", 90*time.Second, doctor("200 of 200 made for fake/small"))
	finds("where is my vehicle?")
	if p := asks("what is the wifi password?"); p.Section("Known facts") != "" {
		t.Errorf("what was never said is in the prompt: %s", p.Section("Known facts"))
	}
	r.Ask("u1", search)
	if turn := fmt.Sprintf("%+v", r.TurnOf(search)); !strings.Contains(turn, "The red automobile stays at Ida's (fact") || strings.Contains(turn, "crashed") {
		t.Errorf("memory.search brings %s", turn)
	}

	change("fake/small", "fake/large")
	r.Await("doctor says how far it is", 90*time.Second, doctor("128 of 200 made for fake/large"))
	r.Kill()
	r.Up()
	r.Await("all is embedded once more", 90*time.Second, doctor("200 of 200 made for fake/large"))
	mu.Lock()
	twice := 0
	for _, n := range sent {
		if twice += n - 1; n > 2 {
			t.Errorf("a text was sent %d times", n)
		}
	}
	if len(sent) != memories || twice > 64 {
		t.Errorf("%d texts were sent, %d of them twice", len(sent), twice)
	}
	mu.Unlock()
	if n := r.Count("SELECT count(*) FROM vectors WHERE model = 'fake/large'"); n != memories || r.Count("SELECT count(*) FROM vectors") != memories {
		t.Errorf("%d vectors", n)
	}
	finds("where is my car?")

	r.Model.Embeds(0, func(llmtest.Request) (llmtest.Reply, bool) {
		return llmtest.Fail(503, "server_error", "", "down"), true
	})
	if p := asks("is the automobile at Ida's?"); !strings.Contains(p.Section("Known facts"), "The red automobile") {
		t.Errorf("by words alone: %s", p.User)
	}
	r.Says("recalling by words alone", 1)
	r.Stop(20 * time.Second)
}

const search = "search my vehicle"

// searches has memory searched where somebody asks for it.
func searches(req llmtest.Request) llmtest.Reply {
	if programtest.Said(req) != search {
		return programtest.Echo(req)
	}
	switch req.Role {
	case "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		return llmtest.Text("It is above.")
	}
	return llmtest.Text(llmtest.Plan("search", llmtest.Tool("memory.search", map[string]any{"which": "where is my vehicle"}, "memories"), llmtest.Msg("Say what was found.")))
}
