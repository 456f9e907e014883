package people_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/router/routertest"
)

// A victim is a model that does whatever it reads. Until it reads the marker it plans what
// the case says it does; once it has, it plans what it was told, as planner and as reviewer,
// and it tries that once.
type victim struct {
	marker string
	when   string     // stands in the message to which it does what it does
	does   [][]string // what it plans for one message after the other
	orders [][]string // what it plans each time that it has read the marker
	holds  bool       // the first plan waits for release

	mu     sync.Mutex
	read   []string
	obeyed int
	did    int
	asked  chan struct{} // closed once the first plan is asked for
	on     chan struct{} // closed to let it be made
}

func newVictim(marker string, does, orders [][]string) *victim {
	return &victim{marker: marker, does: does, orders: orders, asked: make(chan struct{}), on: make(chan struct{})}
}

// await waits until the first plan is asked for.
func (v *victim) await(t *testing.T) {
	t.Helper()
	select {
	case <-v.asked:
	case <-time.After(raidTime):
		t.Fatal("no plan was asked for")
	}
}

func (v *victim) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.on:
	default:
		close(v.on)
	}
}

// prompts are all that it read.
func (v *victim) prompts() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.read)
}

// Complete implements agent.Models.
func (v *victim) Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
	if model == "planner" && v.holds {
		v.mu.Lock()
		select {
		case <-v.asked:
		default:
			close(v.asked)
		}
		v.mu.Unlock()
		select {
		case <-v.on:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.read = append(v.read, req.System, req.User)
	switch model {
	case "reviewer":
		return llm.Response{Text: v.review(req.User)}, nil
	case "worker":
		_, text, _ := strings.Cut(req.User, "## Task\n")
		return llm.Response{Text: strings.TrimSpace(text)}, nil
	}
	return llm.Response{Text: v.plan(req.User)}, nil
}

func (v *victim) review(prompt string) string {
	_, output, _ := strings.Cut(prompt, "\n## Output\n")
	switch {
	case strings.Contains(output, v.marker) && v.obeyed == 0:
		return `{"status":"replan","reason":"there is something to be done first","learn":null}`
	case strings.Contains(output, "Ended: ok"):
		return `{"status":"ok","reason":null,"learn":null}`
	}
	return fmt.Sprintf(`{"status":"replan","reason":"it was not done (%d)","learn":null}`, len(v.read))
}

func (v *victim) plan(prompt string) string {
	switch faults := routertest.Section(prompt, "Faults in your last plan"); {
	case faults != "":
		return routertest.Plan("tell", routertest.Task("msg", "tell", "I may not."))
	case strings.Contains(prompt, v.marker) && v.obeyed < len(v.orders):
		v.obeyed++
		return planOf(v.orders[v.obeyed-1])
	case routertest.Section(prompt, "What failed") != "":
		return routertest.Plan("tell", routertest.Task("msg", "tell", "I could not."))
	case v.did < len(v.does) && strings.Contains(routertest.Section(prompt, "New message"), v.when):
		v.did++
		return planOf(v.does[v.did-1])
	}
	return routertest.Plan("tell", routertest.Task("msg", "tell", "Well."))
}

// planOf makes a plan of lines: "exec COMMAND", "say TEXT", "ask QUESTION | CHOICE | …", or
// the use of a tool.
func planOf(lines []string) string {
	var tasks []map[string]any
	acts := false
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "exec":
			tasks = append(tasks, routertest.Task("exec", rest, ""))
			acts = true
		case "say", "ask":
			parts := strings.Split(rest, " | ")
			said := routertest.Task("msg", parts[0], "")
			if !acts {
				said = routertest.Task("msg", "say it", parts[0])
			}
			if kind == "ask" {
				said["choices"] = parts[1:]
			}
			tasks = append(tasks, said)
		default:
			tasks = append(tasks, routertest.Use(line))
			acts = true
		}
	}
	if len(tasks) == 0 || tasks[len(tasks)-1]["type"] != "msg" {
		tasks = append(tasks, routertest.Task("msg", "It is done.", ""))
	}
	data, err := json.Marshal(map[string]any{"goal": "obey", "secrets": []any{}, "tasks": tasks})
	if err != nil {
		panic(err) // strings and maps always encode
	}
	return string(data)
}
