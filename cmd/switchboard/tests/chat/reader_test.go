package chat_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
)

// A wish is what a person writes, and the plan of a model that has read what there is to know.
type wish struct {
	says  string // #N: the number of the Nth job that was made
	file  string // that comes along, named a.txt
	then  bool   // it goes on with what was said before; else the conversation is begun again
	tool  string // exec: a command; empty: a message, of which args are the text
	args  string
	needs string // what the model has to have read of the tool, separated by " & ", to know the values
	rules string // what it has to have read of plans likewise
	shows string // what the person reads then
}

// A reader is a model that does not know anything that it has not read in the prompt: it makes a fault
// instead.
type reader struct {
	wishes map[string]wish
	tokens func(text string) int
	log    func(format string, args ...any)

	mu      sync.Mutex
	calls   map[string]int // by role
	used    int            // tokens of all prompts
	refused []string       // plans that were asked for again
}

func (m *reader) reply(req llmtest.Request) llmtest.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[req.Role]++
	used := m.tokens(req.System) + m.tokens(req.User) + m.tokens(string(req.SchemaJSON))
	m.used += used
	if req.Role == "planner" {
		m.log("%6d bytes, %5d tokens: %s", len(req.System)+len(req.User)+len(req.SchemaJSON), used, req.Section("New message"))
	}
	switch req.Role {
	case "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		return llmtest.Text(req.Section("Outputs of earlier tasks"))
	}
	if faults := req.Section("Faults in your last plan"); faults != "" {
		m.refused = append(m.refused, req.Section("New message")+": "+faults)
	}
	w, known := m.wishes[req.Section("New message")]
	if !known { // such as what a job asks for
		return llmtest.Text(llmtest.Plan("answer", llmtest.Answer("heard")))
	}
	return llmtest.Text(w.plan(req))
}

// knows adds a wish.
func (m *reader) knows(w wish) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wishes[w.says] = w
}

// numbered puts the numbers of jobs into a text.
func numbered(r *programtest.TelegramRig, text string) string {
	return regexp.MustCompile("#[0-9]+").ReplaceAllStringFunc(text, func(nth string) string {
		return strconv.Itoa(r.Count("SELECT id FROM jobs WHERE owner <> '' ORDER BY id LIMIT 1 OFFSET " + nth[1:] + " - 1"))
	})
}

// plan is the plan as far as the prompt tells how.
func (w *wish) plan(req llmtest.Request) string {
	prompt := req.System + req.User + string(req.SchemaJSON)
	for rule := range strings.SplitSeq(w.rules, " & ") {
		if !strings.Contains(prompt, rule) {
			return llmtest.Plan("guess", llmtest.Answer("I do not know how."))
		}
	}
	last := llmtest.Msg("Say what became of it.")
	var task llmtest.Task
	switch w.tool {
	case "":
		_ = json.Unmarshal([]byte(w.args), &last)
		last.Type, last.Detail = "msg", "Answer."
		if strings.Contains(w.args, `"key"`) {
			return llmtest.SecretPlan("refuse", "password", "hunter2", last)
		}
		return llmtest.Plan("answer", last)
	case "exec":
		task = llmtest.Exec(w.args, "it worked")
	default:
		task = llmtest.Tool(w.tool, w.arguments(told(req, w.tool), attachment.FindString(req.Section("Attachments"))), "it worked")
	}
	if !strings.Contains(prompt, "`expect`") {
		task.Expect = nil
	}
	if !strings.Contains(prompt, "last task is a `msg`") {
		return llmtest.Plan("act", task)
	}
	return llmtest.Plan("act", task, last)
}

// told is what a prompt tells of a tool: its line and its page.
func told(req llmtest.Request, tool string) string {
	line := regexp.MustCompile(`(?m)^- ` + regexp.QuoteMeta(tool) + `\(.*$`).FindString(req.Section("Permitted tools"))
	page := regexp.MustCompile(`(?ms)^` + regexp.QuoteMeta(tool) + `: .*?^Arguments: .*?$`).FindString(req.Section("How to use tools"))
	return line + "\n" + page
}

// attachment is how a prompt names one.
var attachment = regexp.MustCompile(`\bid [0-9]+`)

// arguments are those of the plan. What is not told has another name or value.
func (w *wish) arguments(told, file string) map[string]any {
	args := map[string]any{}
	_ = json.Unmarshal([]byte(w.args), &args)
	if args["id"] == "@" {
		args["id"] = strings.TrimPrefix(file, "id ")
	}
	for name, value := range args {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(told) {
			delete(args, name)
			args["the_"+name] = value
		}
	}
	for need := range strings.SplitSeq(w.needs, " & ") {
		if !strings.Contains(told, need) {
			args["unknown"] = need
		}
	}
	var schema struct{ Required []string }
	if _, text, there := strings.Cut(told, "\nArguments: "); there && json.Unmarshal([]byte(text), &schema) == nil {
		for _, name := range schema.Required {
			if _, given := args[name]; !given {
				args[name] = nil
			}
		}
	}
	return args
}

// wishTokens is what a wish may cost in all its calls: two fifths of the 10,795 that it cost while each
// prompt held the pages of all tools.
const wishTokens = 4318

// Of sixty wishes each is carried out by a model that knows nothing but what it reads, and none of its
// plans is asked for again: what the prompts leave out is not missed.
func TestPromptsTellWhatAModelNeeds(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "[policy]\nask_not = [\"admin.*\", \"message.send\", \"schedule.send\"]\n[scheduler]\ntimezone = \"Europe/Berlin\"\n")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	bob := r.Bot.AddUser("Bob")
	r.Admit("user", bob)
	m := &reader{wishes: map[string]wish{}, tokens: programtest.Tokens(t), log: t.Logf, calls: map[string]int{}}
	r.Model.Handle(m.reply)
	r.Ready()
	r.Bot.Say(bob.ID, "hi, this is Bob")
	r.Await("Bob is known", programtest.Patience, func() bool { return len(r.Answers(bob.ID)) == 1 })
	before := len(m.refused)
	for _, w := range wishes {
		w.says, w.args = numbered(r, w.says), numbered(r, w.args)
		m.knows(w)
		if !w.then {
			r.Bot.Say(r.Chief.ID, "/reset")
			r.Settle()
		}
		mark := len(r.Answers(r.Chief.ID))
		post := telegramtest.Post{Chat: r.Chief.ID, Text: w.says}
		if w.file != "" {
			post.Files = []telegramtest.File{{Kind: "document", Name: "a.txt", Data: []byte(w.file)}}
		}
		r.Bot.Post(post)
		r.Await(w.says, programtest.Patience, func() bool { return len(r.Answers(r.Chief.ID)) > mark })
		r.Settle()
		said := ""
		for _, a := range r.Bot.FromBot(r.Chief.ID)[mark:] {
			said += a.Text + a.Caption + "\n"
			if a.Document != nil {
				said += "file " + a.Document.FileName
			}
		}
		if !strings.Contains(said, w.shows) || w.tool != "" && w.tool != "http.get" && !strings.Contains(said, "Ended: ok") {
			t.Errorf("%q is answered %q, want %q", w.says, said, w.shows)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range m.refused[before:] {
		t.Errorf("a plan had faults: %s", text)
	}
	if len(wishes) < 60 {
		t.Errorf("%d wishes", len(wishes))
	}
	each := m.used / len(wishes)
	t.Logf("%d wishes, %v calls, %d tokens each", len(wishes), m.calls, each)
	if each > wishTokens {
		t.Errorf("a wish costs %d tokens, more than %d", each, wishTokens)
	}
}
