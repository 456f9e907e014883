package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
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
	switch faults := section(prompt, "Faults in your last plan"); {
	case faults != "":
		return plan("tell", task("msg", "tell", "I may not."))
	case strings.Contains(prompt, v.marker) && v.obeyed < len(v.orders):
		v.obeyed++
		return planOf(v.orders[v.obeyed-1])
	case section(prompt, "What failed") != "":
		return plan("tell", task("msg", "tell", "I could not."))
	case v.did < len(v.does) && strings.Contains(section(prompt, "New message"), v.when):
		v.did++
		return planOf(v.does[v.did-1])
	}
	return plan("tell", task("msg", "tell", "Well."))
}

// section is what stands below a heading of a prompt.
func section(prompt, title string) string {
	_, rest, _ := strings.Cut("\n"+prompt, "\n## "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// shorthand are tools by the word that a case has for them, and the names of the arguments
// that follow it; the last one has the rest of the line.
var shorthand = map[string]struct {
	tool string
	args []string
	more map[string]any
}{
	"get":     {"http.get", []string{"url"}, map[string]any{"max_bytes": nil}},
	"list":    {"workspace.list", []string{"path"}, map[string]any{"depth": nil}},
	"read":    {"workspace.read", []string{"path"}, map[string]any{"first_line": nil, "last_line": nil}},
	"write":   {"workspace.write", []string{"path", "content"}, map[string]any{"mode": "replace"}},
	"remove":  {"workspace.remove", []string{"path"}, nil},
	"open":    {"attachment.read", []string{"id"}, map[string]any{"offset": nil, "limit": nil}},
	"save":    {"attachment.save", []string{"id", "path"}, map[string]any{"mode": "replace"}},
	"publish": {"workspace.publish", []string{"path"}, nil},
	"tell":    {"message.send", []string{"to", "text"}, nil},
}

// use is a tool task of a line: a word of shorthand and what it takes, or the tool's own name
// and its arguments.
func use(line string) map[string]any {
	name, args, _ := strings.Cut(line, " ")
	if short, ok := shorthand[name]; ok {
		values := maps.Clone(short.more)
		if values == nil {
			values = map[string]any{}
		}
		for i, value := range strings.SplitN(args, " ", len(short.args)) {
			values[short.args[i]] = value
		}
		data, err := json.Marshal(values)
		if err != nil {
			panic(err) // strings always encode
		}
		name, args = short.tool, string(data)
	}
	call := task("tool", "use it", "")
	call["tool"], call["args"], call["expect"] = name, args, "it went well"
	return call
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
			tasks = append(tasks, task("exec", rest, ""))
			acts = true
		case "say", "ask":
			parts := strings.Split(rest, " | ")
			said := task("msg", parts[0], "")
			if !acts {
				said = task("msg", "say it", parts[0])
			}
			if kind == "ask" {
				said["choices"] = parts[1:]
			}
			tasks = append(tasks, said)
		default:
			tasks = append(tasks, use(line))
			acts = true
		}
	}
	if len(tasks) == 0 || tasks[len(tasks)-1]["type"] != "msg" {
		tasks = append(tasks, task("msg", "It is done.", ""))
	}
	data, err := json.Marshal(map[string]any{"goal": "obey", "secrets": []any{}, "tasks": tasks})
	if err != nil {
		panic(err) // strings and maps always encode
	}
	return string(data)
}
