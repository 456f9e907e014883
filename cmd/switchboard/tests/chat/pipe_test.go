package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
)

func TestThreeLinesInAPipeHaveThreeAnswers(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	out, errs, code := r.CommandWith("what can you do?\nwhat time is it in Tokyo?\nrun uname -a\n", "chat")
	if code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	help, clock, uname := strings.Index(out, "Without a language model"), strings.Index(out, "Asia/Tokyo"), strings.Index(out, "Linux")
	if help < 0 || clock < help || uname < clock {
		t.Errorf("want help, the time in Tokyo and uname's output, in order:\n%s\nprogress:\n%s", out, errs)
	}
	turns := r.Turns() // the engine is gone: the command becomes one
	if len(turns) != 3 {
		t.Fatalf("%d turns", len(turns))
	}
	for _, turn := range turns {
		if turn.State != "done" || turn.Outcome != "answered" {
			t.Errorf("turn %d: %s, %s", turn.ID, turn.State, turn.Outcome)
		}
	}
}

func TestChatAsJSONWritesAnObjectForEachAnswer(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	out, errs, code := r.CommandWith("hello\n/whoami\n", "chat", "--json")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("want two objects:\n%s", out)
	}
	for _, line := range lines {
		var m struct{ Text string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Text == "" {
			t.Errorf("%q: %v", line, err)
		}
	}
	if !strings.Contains(lines[1], "owner") {
		t.Errorf("/whoami says %s", lines[1])
	}
}

// A model over HTTP plans a command, its review fails, the plan is made again, and
// everything can be read afterwards.
func TestReplanIsShown(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Role == "planner" && req.Section("What failed") == "":
			return llmtest.Text(llmtest.Plan("count the lines", llmtest.Exec("echo seven", "a number"), llmtest.Msg("Say how many lines.")))
		case req.Role == "planner":
			return llmtest.Text(llmtest.Plan("count them again", llmtest.Exec("echo 7", "a number"), llmtest.Msg("Say how many lines.")))
		case req.Role == "reviewer" && req.Has("seven"):
			return llmtest.Text(llmtest.Replan("seven is a word, not a number"))
		case req.Role == "reviewer":
			return llmtest.Text(llmtest.ReviewOK())
		}
		return llmtest.Text("There are 7 lines.")
	})
	r.Start()
	r.Await("the engine is up", 10*time.Second, func() bool { _, _, code := r.Command("doctor", "--alive"); return code == 0 })
	out, errs, code := r.CommandWith("how many lines?\n", "chat")
	if code != 0 || strings.TrimSpace(out) != "There are 7 lines." {
		t.Fatalf("exit %d, stdout %q\n%s", code, out, errs)
	}
	for _, want := range []string{"count the lines", "count them again"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the progress does not show %q:\n%s", want, errs)
		}
	}
	if strings.Contains(errs, "planning again") {
		t.Errorf("the progress talks of itself:\n%s", errs)
	}
	list := r.Turns()
	if len(list) != 1 || list[0].State != "done" {
		t.Fatalf("turns: %+v", list)
	}
	turn := programtest.List[turns.Turn](r, "turn", "show", fmt.Sprint(list[0].ID), "--json", "--prompts")
	checkReplanned(t, turn)
	text, _, _ := r.Command("turn", "show", fmt.Sprint(list[0].ID))
	for _, want := range []string{"Plan 1: count the lines", "Plan 2: count them again", "review: replan, seven is a word", "5 model calls"} {
		if !strings.Contains(text, want) {
			t.Errorf("turn show lacks %q:\n%s", want, text)
		}
	}
	r.Stop(20 * time.Second)
}

func checkReplanned(t *testing.T, turn turns.Turn) {
	t.Helper()
	if len(turn.Plans) != 2 {
		t.Fatalf("%d plans", len(turn.Plans))
	}
	first := turn.Plans[0].Tasks
	if first[0].Review == nil || first[0].Review.Status != "replan" || first[0].Review.Reason != "seven is a word, not a number" {
		t.Errorf("first review: %+v", first[0].Review)
	}
	if first[1].State != "cancelled" {
		t.Errorf("the task behind it is %s", first[1].State)
	}
	if !strings.Contains(first[0].Output, "seven") {
		t.Errorf("output: %q", first[0].Output)
	}
	second := turn.Plans[1].Tasks
	if second[0].Review == nil || second[0].Review.Status != "ok" || second[1].State != "done" {
		t.Errorf("second plan: %+v", second)
	}
	var roles []string
	for _, call := range turn.LLM {
		roles = append(roles, call.Role)
		if !json.Valid(call.Request) || !strings.Contains(string(call.Request), `"messages"`) || call.Response == "" {
			t.Errorf("call %s lacks its request or answer", call.Step)
		}
		if strings.Contains(string(call.Request)+call.Response, "test-key-not-secret") {
			t.Errorf("call %s holds the key", call.Step)
		}
	}
	if got := strings.Join(roles, " "); got != "planner reviewer planner reviewer worker" {
		t.Errorf("calls by %s", got)
	}
	if turn.TokensIn == 0 || turn.TokensOut == 0 {
		t.Errorf("costs: %d in, %d out", turn.TokensIn, turn.TokensOut)
	}
}
