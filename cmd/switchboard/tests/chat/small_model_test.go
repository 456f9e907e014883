package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// A model that reads 4,096 tokens, as Ollama loads it by default, is of use: it knows its instructions
// however long the conversation is, and what is too long for it is refused and not answered at random.
func TestSmallModelIsOfUse(t *testing.T) {
	t.Parallel()
	const length = 4096
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Append("[scheduler]\ntimezone = \"Europe/Berlin\"\n")
	r.Model.Forgets(length, programtest.Tokens(t))
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if req.Read > length-length/4 {
			t.Errorf("a %s's prompt has %d tokens; %d and %d by our estimate, for %.60q; headings %q", req.Role, req.Read, llm.Tokens(req.System), llm.Tokens(req.User), req.Section("New message"), req.Headings())
		}
		said := req.Section("New message")
		switch {
		case req.System == "": // who does not know the instructions chats
			return llmtest.Text("What a nice text!")
		case req.Role == "reviewer":
			if !strings.Contains(req.Section("Output"), "Ended: ok") {
				t.Errorf("it failed: %s", req.Section("Output"))
			}
			return llmtest.Text(llmtest.ReviewOK())
		case req.Has("The number is "):
			return llmtest.Agreeable(req)
		case req.Role == "worker":
			return llmtest.Text("done: " + req.Section("Task"))
		case strings.HasPrefix(said, "remind me") && strings.Contains(req.Section("How to use tools"), "schedule.add:"):
			return llmtest.Text(llmtest.Plan("remind", llmtest.Tool("schedule.add", map[string]any{
				"kind": "reminder", "when": strings.TrimPrefix(said, "remind me "), "text": nil, "zone": nil,
			}, "it is made"), llmtest.Msg("the reminder")))
		case strings.HasPrefix(said, "list") && strings.Contains(req.Section("Permitted tools"), "- exec:"):
			return llmtest.Text(llmtest.Plan("list", llmtest.Exec("ls", "a list"), llmtest.Msg("the list")))
		}
		return llmtest.Text(llmtest.Plan("talk", llmtest.Answer("heard: "+said[:min(len(said), 20)])))
	})
	r.Ready()
	if out, _, _ := r.Command("doctor"); !strings.Contains(out, "fake/model (planner, reviewer, worker): answered in ") || !strings.Contains(out, "fake/model reads 4096 tokens at once, so it soon forgets") || strings.Contains(out, "forgets the beginning") || !strings.Contains(out, "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("the doctor says\n%s", out)
	}
	n := 0
	say := func(text, want string) {
		t.Helper()
		n++
		r.Bot.Say(r.Chief.ID, text)
		got := "" // first the plan, where it takes long
		r.Await(fmt.Sprintf("%.40q is answered with %q", text, want), programtest.Patience, func() bool {
			if list := r.Answers(r.Chief.ID); len(list) >= n {
				got = list[n-1]
			}
			return strings.Contains(got, want)
		})
	}
	say("hello", "heard: hello")
	say("remind me tomorrow at 9 to call Ann", "done: the reminder")
	say("list my files", "done: the list")
	for range 4 {
		say("a long story "+strings.Repeat("and then he said that it was so ", 100), "heard: a long story")
	}
	say("remind me every monday at 9 to water the plants", "done: the reminder")
	say(strings.Repeat("長い物語", 1000), "more text than the language model can read")
	say("hello again", "heard: hello again")
	if out, errs, _ := r.Command("job", "list", "--all"); !strings.Contains(out, "call Ann") || !strings.Contains(out, "water the plants") {
		t.Errorf("the jobs are\n%s%s", out, errs)
	}
}
