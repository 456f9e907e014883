package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// A model that fails in every way it can: the person gets an honest sentence, the
// turn fails, and the next message works. What passes by itself is waited for no longer than
// stale_after, which is too short for a second try here.
func TestModelFaultsEndInASentence(t *testing.T) {
	t.Parallel()
	answer := llmtest.Plan("answer", llmtest.Answer("this never arrives"))
	cut := llmtest.Text(answer)
	cut.CutAt = 40
	short := llmtest.Text(answer[:len(answer)/2])
	short.Finish = "length"
	const noAnswer, noPlan, busy = "gave no answer", "could not work out a valid plan", "overloaded"
	cases := []struct {
		name  string
		reply llmtest.Reply
		want  string // in what the person reads
	}{
		{"garbage", llmtest.Garbage(), noAnswer},
		{"empty", llmtest.Empty(), noAnswer},
		{"nothing", llmtest.Text(""), noPlan},
		{"nochoices", llmtest.Reply{NoChoices: true}, noAnswer},
		{"halfprose", llmtest.Text("Sure! Here is my {plan}: I will do it."), noPlan},
		{"wrongshape", llmtest.Text(`{"goal": 7, "tasks": "all"}`), noPlan},
		{"cutconnection", cut, noAnswer},
		{"truncated", short, noPlan},
		{"error500", llmtest.Fail(http.StatusInternalServerError, "server_error", "", "boom"), noAnswer},
		{"always429", llmtest.RateLimited(time.Second), busy},
		{"bare429", llmtest.RateLimited(0), busy},
		{"hanging", llmtest.Hang(), noAnswer},
		{"refusal", llmtest.Reply{Refusal: "I will not."}, "declined"},
	}
	var people []string
	replies := map[string]llmtest.Reply{}
	for _, c := range cases {
		people = append(people, c.name)
		replies["fault "+c.name] = c.reply
	}
	r := programtest.NewRig(t, append(people, "u1"), "[router]\nrate_person = \"off\"\nstale_after = \"4s\"\n[agent]\nplanner = \"fake/model\"\nllm_timeout = \"10s\"\n")
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if reply, ok := replies[programtest.Said(req)]; ok {
			return reply
		}
		return programtest.Echo(req)
	})
	r.Ready()
	r.Answers("u1", "hello", "heard: hello")
	began := time.Now()
	for _, c := range cases {
		r.Platform.Say("c"+c.name, c.name, "fault "+c.name)
	}
	for _, c := range cases { // what waited behind a model that hangs would be stale
		r.Await("the fault of "+c.name+" answered", 40*time.Second, func() bool { return len(r.Shown(c.name)) >= 1 })
		r.Platform.Say("c"+c.name, c.name, "and now?")
	}
	for _, c := range cases {
		r.Await("both messages of "+c.name+" answered", 40*time.Second, func() bool { return len(r.Shown(c.name)) >= 2 })
		got := r.Shown(c.name)
		if len(got) != 2 || !strings.Contains(got[0], c.want) || got[1] != "heard: and now?" {
			t.Errorf("%s: the person reads %q, want %q first", c.name, got, c.want)
		}
		turn := r.TurnOf("fault " + c.name)
		if turn.State != "failed" {
			t.Errorf("%s: the turn ended %s (%s)", c.name, turn.State, turn.Outcome)
		}
		if len(turn.LLM) == 0 {
			t.Errorf("%s: no call is in the ledger", c.name)
		}
	}
	t.Logf("all faults answered after %s", time.Since(began).Round(10*time.Millisecond))
}

// A model that answers in words, and not with a plan, is heard, whatever lenient says.
func TestModelThatAnswersInWordsIsHeard(t *testing.T) {
	t.Parallel()
	for _, lenient := range []string{"", "lenient = true\n"} {
		r := programtest.PlannedBy(t, lenient, func(llmtest.Request) llmtest.Reply {
			return llmtest.Text("Rome is the capital of Italy.\n\nIt is old.")
		}, "u1")
		r.Up()
		for n := range 5 {
			r.Answers("u1", fmt.Sprint("what is it? ", n), "Rome is the capital of Italy.\n\nIt is old.")
		}
		if n := r.Model.Count(); n != 5 {
			t.Errorf("%d calls for 5 answers", n)
		}
		r.Stop(20 * time.Second)
	}
}

// A 429 that says how long is waited for, and then the answer comes.
func TestRateLimitedModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		if calls.Add(1) == 1 {
			return llmtest.RateLimited(2 * time.Second)
		}
		return programtest.Echo(req)
	}, "u1")
	r.Up()
	began := time.Now()
	r.Answers("u1", "patience", "heard: patience")
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("asked again after %s, Retry-After was 2 s", took)
	}
	turn := r.TurnOf("patience")
	if turn.State != "done" || calls.Load() != 2 {
		t.Errorf("the turn ended %s after %d calls", turn.State, calls.Load())
	}
}

// A model that stalls is given up for the next one, in every role.
func TestStalledModelIsReplacedByTheFallback(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	r := programtest.PlannedBy(t, "fallback = [\"fake/spare\"]\nstall_timeout = \"5s\"\n", func(req llmtest.Request) llmtest.Reply {
		mu.Lock()
		asked[req.Model+" "+req.Role]++
		mu.Unlock()
		if req.Model != "spare" {
			return llmtest.Hang()
		}
		return programtest.Doing("echo ok")(req)
	}, "u1")
	r.Up()
	r.Answers("u1", "go", "It is done.")
	turn := r.TurnOf("go")
	if turn.State != "done" {
		t.Errorf("the turn ended %s (%s)", turn.State, turn.Outcome)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, role := range []string{"planner", "reviewer", "worker"} {
		if asked["model "+role] != 1 || asked["spare "+role] != 1 {
			t.Errorf("%s: each model should be asked once: %v", role, asked)
		}
	}
	failed := 0
	for _, call := range turn.LLM {
		if call.Error != "" {
			failed++
		}
	}
	if failed != 3 || len(turn.LLM) != 6 {
		t.Errorf("%d calls, %d failed; want 6 and 3", len(turn.LLM), failed)
	}
}
