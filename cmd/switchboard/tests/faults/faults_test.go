package faults_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

func TestStrangerIsNotServed(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Up()
	for _, text := range []string{"run uname for me", "/help", "/whoami"} {
		r.Platform.Say("cmallory", "mallory", text)
	}
	r.Answers("u1", "hello", "heard: hello")
	r.Await("everything is confirmed", 5*time.Second, func() bool { return r.Platform.Pending() == 0 })
	if got := r.Shown("mallory"); len(got) > 0 {
		t.Errorf("the stranger was told %q", got)
	}
	if n := r.Model.Count(); n != 1 {
		t.Errorf("%d model calls, one message was ours to answer", n)
	}
	if turns := r.Turns(); len(turns) != 1 {
		t.Errorf("%d turns", len(turns))
	}
	if n := r.Count("SELECT count(*) FROM messages WHERE class = 'stranger' AND identity = 'scripted:mallory' AND session_id IS NULL AND turn_id IS NULL"); n != 3 {
		t.Errorf("%d messages of the stranger are kept for audit, 3 were written", n)
	}
}

func TestRedeliveredEventIsOneTurn(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Platform.Repeat(5)
	r.Up()
	r.Answers("u1", "only once", "heard: only once")
	r.Noted()
	r.Kill()
	r.Platform.Write(scripted.Message{ID: "m1", Conversation: "cu1", User: "u1", Text: "only once"}) // m1 was its name
	r.Up()
	r.Answers("u1", "and now this", "heard: and now this")
	r.Await("everything is confirmed", 5*time.Second, func() bool { return r.Platform.Pending() == 0 })
	if turns := r.Turns(); len(turns) != 2 {
		t.Errorf("%d turns, want 2: %+v", len(turns), turns)
	}
	if got := r.Shown("u1"); len(got) != 2 {
		t.Errorf("the person reads %q", got)
	}
}

func TestOddTextThroughThePipeIsAnsweredOrRefused(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo)
	r.Up()
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		name, in, out, err string
		code               int
	}{
		{"nothing", "", "", "", 0},
		{"blank lines", "\n   \n\t\n", "", "", 0},
		{"no newline at the end", "tail", "heard: tail\n", "", 0},
		{"right to left", "שלום עולם, مرحبا\n", "heard: שלום עולם, مرحبا\n", "", 0},
		{"four bytes", "😀👩‍👩‍👧‍👦𝄞\n", "heard: 😀👩‍👩‍👧‍👦𝄞\n", "", 0},
		{"carriage return", "dos\r\n", "heard: dos\n", "", 0},
		{"NUL", "a\x00b\nafter\n", "heard: after\n", "message 1", 1},
		{"invalid UTF-8", "a\xff\xfeb\nafter\n", "heard: after\n", "not valid UTF-8", 1},
		{"at the limit", long + "\n", "heard: " + long + "\n", "", 0},
		{"over the limit", long + "x\nafter\n", "Your message is 65 KB long; I take up to 64 KB. Please send it in parts.\nheard: after\n", "", 0},
		{"over everything", strings.Repeat("y", 9<<20) + "\nafter\n", "heard: after\n", "longer than 8 MB", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := r.CommandWith(c.in, "chat", "--session", "s"+fmt.Sprint(len(c.name)))
			if out != c.out || code != c.code || !strings.Contains(errs, c.err) {
				t.Errorf("exit %d, want %d; stdout %.200q, want %.200q; stderr must hold %q:\n%.500s", code, c.code, out, c.out, c.err, errs)
			}
		})
	}
	out, errs, code := r.CommandWith("שלום 😀\n\"quoted\" <b>\n", "chat", "--json")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	var texts []string
	for line := range strings.Lines(out) {
		var m struct{ Text, Direction string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Direction != "out" {
			t.Errorf("%q: %v", line, err)
		}
		texts = append(texts, m.Text)
	}
	if want := []string{"heard: שלום 😀", `heard: "quoted" <b>`}; !slices.Equal(texts, want) {
		t.Errorf("as JSON %q, want %q", texts, want)
	}
}

// A plan far over the limit goes back with its fault, and fails in words.
func TestPlanOfTenThousandTasksFails(t *testing.T) {
	t.Parallel()
	tasks := make([]llmtest.Task, 0, 10_001)
	for i := range 10_000 {
		tasks = append(tasks, llmtest.Exec(fmt.Sprintf("echo %d >> log.txt", i), "a line"))
	}
	plan := llmtest.Plan("do it all", append(tasks, llmtest.Msg("done"))...)
	var sent, told atomic.Int32
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		if programtest.Said(req) != "do it all" {
			return programtest.Echo(req)
		}
		sent.Add(1)
		if strings.Contains(req.Section("Faults in your last plan"), "10001") {
			told.Add(1)
		}
		return llmtest.Text(plan)
	}, "u1")
	r.Up()
	text := r.Ask("u1", "do it all")
	if !strings.Contains(text, "could not work out a valid plan") {
		t.Errorf("the person reads %q", text)
	}
	if sent.Load() != 4 || told.Load() != 3 {
		t.Errorf("planned %d times, told the fault %d times; want 4 and 3", sent.Load(), told.Load())
	}
	turn := r.TurnOf("do it all")
	if turn.State != "failed" || turn.Outcome != "invalid_plan" || len(turn.Plans) != 0 {
		t.Errorf("the turn ended %s (%s) with %d plans", turn.State, turn.Outcome, len(turn.Plans))
	}
	r.Answers("u1", "still there?", "heard: still there?")
}

// secretPlan answers a message that holds a credential with a plan that asks to
// store it.
const credential = "Hq7-very-Secret-4711"

func TestSecretsInAPlanLeaveNoTrace(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		if req.Has(credential) && strings.Contains(programtest.Said(req), credential) {
			return llmtest.Text(llmtest.SecretPlan("log in", "SITE_PASSWORD", credential, llmtest.Exec("login", "in"), llmtest.Msg("done")))
		}
		if req.Has(credential) {
			return llmtest.Text(llmtest.Plan("leak", llmtest.Answer("I still know "+credential)))
		}
		return programtest.Echo(req)
	}, "u1")
	r.Up()
	text := r.Ask("u1", "log in with "+credential+" please")
	if !strings.Contains(text, "not available in this build") {
		t.Errorf("the person reads %q", text)
	}
	r.Answers("u1", "what did I say?", "heard: what did I say?")
	turns := r.Turns()
	refused := turns[len(turns)-1]
	if refused.State != "failed" || refused.Outcome != "not_available" {
		t.Errorf("the turn ended %s (%s)", refused.State, refused.Outcome)
	}
	whole, _, _ := r.Command("turn", "show", fmt.Sprint(refused.ID), "--json", "--prompts")
	for what, text := range map[string]string{"turn show": whole, "the log": r.Log.String(), "the replies": strings.Join(r.Shown("u1"), "\n")} {
		if strings.Contains(text, credential) {
			t.Errorf("%s holds the credential:\n%s", what, programtest.Tail(text, 3000))
		}
	}
	if n := r.Count("SELECT count(*) FROM messages WHERE text LIKE ?", "%"+credential+"%"); n != 0 {
		t.Errorf("%d messages hold the credential", n)
	}
	r.Stop(20 * time.Second)
	if files := r.Holds(credential); len(files) > 0 {
		t.Errorf("the credential stands in %v", files)
	}
}
