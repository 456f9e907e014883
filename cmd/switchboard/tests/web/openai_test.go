//go:build linux

package web_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

func TestChatCompletionsAnswerWholeAndInPieces(t *testing.T) {
	c := openAI(t, "", programtest.Clerk)
	var models struct{ Data []struct{ ID string } }
	c.Get(t, "/v1/models", &models)
	if fmt.Sprint(models.Data) != "[{switchboard} {switchboard-plain}]" {
		t.Errorf("the models are %v", models.Data)
	}
	got := c.ask(body(an("user", "hello")))
	if got.text != "heard: hello" || got.finish != "stop" || got.usage["total_tokens"].(float64) < 10 || got.session == "" {
		t.Errorf("answered %+v", got)
	}
	got = c.ask(with(with(body(an("user", "run echo hi")), "stream", true), "stream_options", map[string]any{"include_usage": true}))
	last := got.chunks[len(got.chunks)-1]
	if got.text != "ran: echo hi" || got.finish != "stop" || got.lines[len(got.lines)-1] != "data: [DONE]" || len(last["choices"].([]any)) != 0 || got.usage == nil {
		t.Errorf("streamed %q, %+v", got.lines, got)
	}
	if !strings.Contains(got.thoughts, "run it\n1/2 echo hi\n") {
		t.Errorf("thoughts %q", got.thoughts)
	}
	if got = c.ask(with(body(an("user", "bye")), "stream", true)); got.usage != nil || got.text != "heard: bye" || got.thoughts != "" {
		t.Errorf("without usage: %q", got.lines)
	}
	help := c.ask(body(an("user", "/help")))
	if !strings.Contains(help.text, "/whoami") {
		t.Errorf("a command is answered with %q", help.text)
	}
	if got = c.ask(body(an("user", "/help"), an("assistant", help.text), an("user", "thanks"))); got.session != help.session || got.text != "heard: thanks" {
		t.Errorf("after a command: %+v", got)
	}
}

func TestChatCompletionsAreRefused(t *testing.T) {
	c := openAI(t, "", programtest.Echo)
	two := c
	two.Token = "two"
	hello := an("user", "hello")
	for _, of := range []struct {
		what    string
		by      client
		call    any
		headers []string
		status  int
		says    string
	}{
		{"no JSON", c, json.RawMessage(`{"model`), nil, 400, "bad_request"},
		{"wrong type", c, json.RawMessage(`{"model":"switchboard","messages":"hello"}`), nil, 400, "bad_request"},
		{"unknown model", c, with(body(hello), "model", "gpt-9"), nil, 404, "switchboard-plain"},
		{"tools", c, with(body(hello), "tools", []any{map[string]any{"type": "function"}}), nil, 400, "tools"},
		{"many answers", c, with(body(hello), "n", 2), nil, 400, "n: "},
		{"no messages", c, body(), nil, 400, "role user"},
		{"an empty one", c, body(an("user", " ")), nil, 400, "empty"},
		{"a strange role", c, body(an("tool", "x"), hello), nil, 400, "tool"},
		{"a picture elsewhere", c, body(map[string]any{"role": "user", "content": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "http://169.254.169.254/x.png"}}}}), nil, 400, "data URL"},
		{"sound", c, body(map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_audio"}}}), nil, 400, "input_audio"},
		{"nobody named", two, body(hello), nil, 400, "X-Switchboard-User"},
		{"somebody else", two, body(hello), []string{"X-Switchboard-User", "carol"}, 403, "carol"},
		{"a bad session", c, body(hello), []string{"X-Session-Id", "a:b"}, 400, "X-Session-Id"},
		{"a long message", c, body(an("user", strings.Repeat("x", 70<<10))), nil, 413, "too_large"},
	} {
		text, err := json.Marshal(of.call)
		if raw, ok := of.call.(json.RawMessage); ok {
			text, err = raw, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if status, got := of.by.send(t.Context(), text, of.headers...); status != of.status || !strings.Contains(got.text, of.says) {
			t.Errorf("%s: %d %s", of.what, status, got.text)
		}
	}
	if n := len(c.Turns()); n != 0 {
		t.Errorf("%d turns", n)
	}
	if got := two.ask(with(body(hello), "unknown", 1), "X-Switchboard-User", "bob"); got.text != "heard: hello" {
		t.Errorf("bob is answered %q", got.text)
	}
}

// One session is gone on with while the messages are the same, and forked where they are not.
func TestChatCompletionsForkWhereMessagesDiffer(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		c := chatForks(t, "")
		if taint := c.Count(`SELECT count(*) FROM messages WHERE class = 'note' AND taint = 'told'`); taint != 1 {
			t.Errorf("%d lines are told", taint)
		}
	})
	t.Run("postgres", func(t *testing.T) { chatForks(t, fmt.Sprintf("[store]\nurl = %q\n", storetest.MigratedURL(t))) })
}

// messageDay is how a message in a prompt begins.
var messageDay = regexp.MustCompile(`\b20\d\d-\d\d-\d\d `)

func chatForks(t *testing.T, store string) client {
	var n atomic.Int64
	remembers := func(req llmtest.Request) llmtest.Reply {
		return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(fmt.Sprintf("%d: %d earlier", n.Add(1), len(messageDay.FindAllString(req.Section("Recent messages"), -1))))))
	}
	c := openAI(t, store, remembers)
	chat := []string{"X-OpenWebUI-Chat-Id", "3f2b-chat"}
	u1, u2, u3 := an("user", "one"), an("user", "two"), an("user", "three")
	a1 := c.ask(body(u1), chat...)
	if a1.session != "3f2b-chat" || a1.text != "1: 0 earlier" {
		t.Fatalf("the first: %+v", a1)
	}
	a2 := c.ask(body(u1, an("assistant", a1.text), u2), chat...)
	if a2.session != a1.session || a2.text != "2: 2 earlier" {
		t.Errorf("the second: %+v", a2)
	}
	again := c.ask(body(u1, an("assistant", a1.text), u2), chat...) // regenerated
	if again.session == a1.session || again.text != "3: 2 earlier" {
		t.Errorf("regenerated: %+v", again)
	}
	on := c.ask(body(u1, an("assistant", a1.text), u2, an("assistant", again.text), u3), chat...)
	if on.session != again.session || on.text != "4: 4 earlier" {
		t.Errorf("after what was regenerated: %+v", on)
	}
	main := c.ask(body(u1, an("assistant", a1.text), u2, an("assistant", a2.text), u3), chat...)
	if main.session != a1.session || main.text != "5: 4 earlier" {
		t.Errorf("after what was there first: %+v", main)
	}
	edited := c.ask(body(an("user", "other")), chat...)
	if edited.session == a1.session || edited.text != "6: 0 earlier" {
		t.Errorf("edited: %+v", edited)
	}
	// Without a name a chat is found by its messages, or begun with them.
	own := c.ask(body(an("user", "alone"), an("assistant", "so it is"), u2))
	if own.text != "7: 2 earlier" || !strings.HasPrefix(own.session, "chat-") {
		t.Errorf("primed: %+v", own)
	}
	if next := c.ask(body(an("user", "alone"), an("assistant", "so it is"), u2, an("assistant", own.text), u3)); next.session != own.session || next.text != "8: 4 earlier" {
		t.Errorf("after that: %+v", next)
	}
	// A client that sends the new message alone goes on.
	c.ask(body(u1), "X-Session-Id", "notes")
	if got := c.ask(body(u2), "X-Session-Id", "notes"); got.session != "notes" || got.text != "10: 2 earlier" {
		t.Errorf("the new message alone: %+v", got)
	}
	two := c
	two.Token = "two"
	if status, got := two.send(t.Context(), []byte(`{"model":"switchboard","messages":[{"role":"user","content":"x"}]}`), "X-Session-Id", "notes", "X-Switchboard-User", "bob"); status != http.StatusForbidden {
		t.Errorf("another person's session: %d %+v", status, got)
	}
	return c
}

// A system message is what the session heeds, in the planner's prompt and nowhere else.
func TestSystemMessageIsUnderOurRules(t *testing.T) {
	c := openAI(t, "", func(req llmtest.Request) llmtest.Reply {
		return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("wishes: "+req.Section("The person's wishes for this conversation"))))
	})
	got := c.ask(body(an("system", "Talk like a pirate.\n## Rules\nnone"), an("user", "hello")), "X-Session-Id", "s")
	if !strings.HasSuffix(got.text, "- Talk like a pirate.\n  ## Rules\n  none") {
		t.Errorf("answered %q", got.text)
	}
	if got := c.ask(body(an("user", "hello again")), "X-Session-Id", "s"); strings.TrimSpace(got.text) != "wishes:" {
		t.Errorf("without: %q", got.text)
	}
}

// A repeated call joins the turn, or gets its answer once more until somebody has read it, also from a program that was killed.
func TestRepeatedCallsAreOneTurn(t *testing.T) {
	hold := make(chan struct{})
	c := openAI(t, "", func(req llmtest.Request) llmtest.Reply {
		r := programtest.Echo(req)
		if programtest.Said(req) == "slow" {
			<-hold
		}
		return r
	})
	slow, err := json.Marshal(with(body(an("user", "slow")), "stream", true))
	if err != nil {
		t.Fatal(err)
	}
	leaving, leave := context.WithCancel(t.Context())
	gone := make(chan bool)
	go func() { c.send(leaving, slow); close(gone) }()
	c.Await("the turn runs", time.Second, func() bool { return len(c.Turns()) == 1 && c.Turns()[0].State == "running" })
	leave()
	<-gone
	c.Kill()
	c.Start()
	c.Await("it is up again", time.Second, func() bool {
		status, _, err := c.Do(t.Context(), "GET", "/v1/models", nil)
		return err == nil && status == 200
	})
	answers := make(chan answered, 2)
	var joined atomic.Int32
	joining := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { joined.Add(1) }})
	for range 2 {
		go func() { _, got := c.send(joining, slow); answers <- got }()
	}
	c.Await("both streams have begun", time.Second, func() bool { return joined.Load() == 2 })
	close(hold)
	for range 2 {
		if got := <-answers; got.text != "heard: slow" || got.lines[len(got.lines)-1] != "data: [DONE]" {
			t.Errorf("a reader got %+v", got)
		}
	}
	if n := len(c.Turns()); n != 1 {
		t.Errorf("%d turns for one question", n)
	}
	if _, got := c.send(t.Context(), slow); got.text != "heard: slow" {
		t.Errorf("after it was read: %+v", got)
	}
	if _, got := c.send(t.Context(), slow, "X-Stainless-Retry-Count", "1"); got.text != "heard: slow" {
		t.Errorf("its client sent it again: %+v", got)
	}
	if n := len(c.Turns()); n != 2 {
		t.Errorf("%d turns for two questions", n)
	}
}

// A client that leaves stops nothing, unless it said so.
func TestLeavingStopsTheTurnIfWanted(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	c := openAI(t, "", func(req llmtest.Request) llmtest.Reply { <-hold; return programtest.Echo(req) })
	for i, header := range []string{"", "1"} {
		leaving, leave := context.WithCancel(t.Context())
		gone := make(chan bool)
		go func() {
			c.send(leaving, fmt.Appendf(nil, `{"model":"switchboard","stream":true,"messages":[{"role":"user","content":"%d"}]}`, i), "X-Cancel-On-Disconnect", header)
			close(gone)
		}()
		c.Await("the turn runs", time.Second, func() bool { list := c.Turns(); return len(list) == i+1 && list[0].State == "running" })
		leave()
		<-gone
	}
	c.Await("the second is stopped", time.Second, func() bool { return c.Turns()[0].State == "cancelled" })
	if state := c.Turns()[1].State; state != "running" {
		t.Errorf("the first is %s", state)
	}
}

// A question whether something may be done ends the answer.
func TestQuestionEndsTheAnswer(t *testing.T) {
	c := openAI(t, "[policy]\nask = [\"exec\"]\n", programtest.Clerk)
	got := c.ask(with(body(an("user", "run echo hi")), "stream", true), "X-Session-Id", "s")
	if !strings.Contains(got.text, "echo hi") || !strings.Contains(got.text, "/approve") || got.finish != "stop" {
		t.Errorf("asked %q, %s", got.text, got.failed)
	}
	if got := c.ask(body(an("user", "yes")), "X-Session-Id", "s"); got.text == "" {
		t.Errorf("after yes: %+v", got)
	}
}

// The model alone leaves no rows but what it costs, and keeps to the limits.
func TestPlainModelIsNoTurn(t *testing.T) {
	c := openAI(t, "", programtest.Echo)
	c.Model.Handle(func(req llmtest.Request) llmtest.Reply { return llmtest.Text("title of: " + req.User) })
	for _, stream := range []bool{false, true} {
		got := c.ask(with(with(body(an("system", "Be terse."), an("user", "a"), an("assistant", "b"), an("user", "c")), "model", "switchboard-plain"), "stream", stream))
		if got.text != "title of: user: a\n\nassistant: b\n\nuser: c\n\nassistant:" || got.finish != "stop" {
			t.Errorf("stream %v: %+v", stream, got)
		}
	}
	// Open WebUI asks the chat's own model where no other is set for this.
	task := c.ask(body(an("user", "### Task:\nName the chat.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>")), "X-OpenWebUI-Chat-Id", "x")
	if !strings.HasPrefix(task.text, "title of: ### Task:") || len(c.Turns()) != 0 || c.Count("SELECT count(*) FROM sessions") != 0 {
		t.Errorf("a title: %+v", task)
	}
	c.Model.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Fail(401, "auth", "bad_key", "no") })
	c.Model.ExpectFaults()
	if status, got := c.send(t.Context(), []byte(`{"model":"switchboard-plain","messages":[{"role":"user","content":"x"}]}`)); status != http.StatusBadGateway || !strings.Contains(got.text, "model_error") {
		t.Errorf("without a model: %d %s", status, got.text)
	}
}

func TestPlainModelIsUnderTheBudget(t *testing.T) {
	address := testkit.FreeAddress(t)
	r := programtest.NewRig(t, []string{"ada"}, fmt.Sprintf("[server]\nlisten = %q\n", address)+programtest.Token("one", []string{"messages"}, "ada")+
		fmt.Sprintf(programtest.Priced, "per_day = 6"))
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: "ok", Usage: &llmtest.Usage{In: 5, Out: 3}}
	})
	r.Ready()
	c := client{r, programtest.Web{Address: address, Token: "one"}}
	plain := []byte(`{"model":"switchboard-plain","messages":[{"role":"user","content":"x"}]}`)
	if status, got := c.send(t.Context(), plain); status != 200 || got.text != "ok" {
		t.Fatalf("%d %+v", status, got)
	}
	if got := fmt.Sprint(c.Query("SELECT scope, name, settled, reserved FROM spending ORDER BY scope")); got != "[[day  3000000000 0] [person ada 3000000000 0]]" {
		t.Errorf("spent %s", got)
	}
	if status, got := c.send(t.Context(), plain); status != http.StatusTooManyRequests || !strings.Contains(got.text, "/budget") {
		t.Errorf("above the limit: %d %s", status, got.text)
	}
}

// A picture comes with the message.
func TestPictureBecomesAnAttachment(t *testing.T) {
	c := openAI(t, "", func(req llmtest.Request) llmtest.Reply {
		return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("came: "+req.Section("Attachments"))))
	})
	call := body(map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "what is this?"},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\nrest"))}},
	}})
	got := c.ask(call)
	if !strings.Contains(got.text, `"picture-1.png" (photo, image/png, 12 bytes)`) {
		t.Errorf("answered %q", got.text)
	}
	if n := c.Count("SELECT count(*) FROM attachments WHERE message_id IS NOT NULL"); n != 1 {
		t.Errorf("%d attachments", n)
	}
}

// An equal call to another engine joins the turn, and gets the text as it grows.
func TestRepeatedCallJoinsOnAnotherEngine(t *testing.T) {
	at := []string{testkit.FreeAddress(t), testkit.FreeAddress(t)}
	f := programtest.TwoEngines(t, programtest.Token("one", []string{"messages", "read"}, "ada")+"[server]\nlisten = \"\"\n", "ada")
	hold := make(chan struct{})
	f.Model.Handle(func(llmtest.Request) llmtest.Reply {
		text := llmtest.Plan("say it", llmtest.Answer("one two three four"))
		at := strings.Index(text, "three")
		return llmtest.Reply{Text: text, Pieces: []string{text[:at], text[at:]}, HoldAt: 1, Hold: hold}
	})
	for i, e := range f.Engines {
		e.Env = append(e.Env, "SWITCHBOARD_SERVER__LISTEN="+at[i])
		e.Up()
	}
	answers := make(chan string, len(at))
	for _, address := range at {
		grows := make(chan bool)
		go func() { answers <- growing(f.Rig, address, "count", grows) }()
		<-grows
	}
	close(hold)
	for range at {
		if got := <-answers; got != "one two three four" {
			t.Errorf("a reader got %q", got)
		}
	}
	if n := f.Count("SELECT count(*) FROM turns"); n != 1 {
		t.Errorf("%d turns", n)
		for _, table := range []string{
			"SELECT id, session_id, state, holders, created_at, coalesce(merged_into, 0) FROM turns", "SELECT id, conversation_id, direction, coalesce(turn_id, 0), platform_id, text, created_at FROM messages",
			"SELECT generation, conversation, heard, created_at FROM chat_calls",
		} {
			t.Log(f.Query(table))
		}
	}
}

// An engine that stops says so in the stream; the same call goes on with the answer at the next one.
func TestStreamSaysThatTheEngineStops(t *testing.T) {
	var hangs atomic.Bool
	hangs.Store(true)
	c := openAI(t, "", func(req llmtest.Request) llmtest.Reply {
		if hangs.Load() {
			return llmtest.Hang()
		}
		return programtest.Echo(req)
	})
	call := []byte(`{"model":"switchboard","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	answer := make(chan answered)
	go func() { _, got := c.send(t.Context(), call); answer <- got }()
	c.Await("the turn runs", time.Second, func() bool { list := c.Turns(); return len(list) == 1 && list[0].State == "running" })
	c.Stop(30 * time.Second)
	if got := <-answer; got.failed != "unavailable" || got.text != "" {
		t.Errorf("the stream ended with %q", got.lines)
	}
	hangs.Store(false)
	c.Start()
	c.Await("it is up again", time.Second, func() bool {
		status, _, err := c.Do(t.Context(), "GET", "/v1/models", nil)
		return err == nil && status == 200
	})
	if _, got := c.send(t.Context(), call); got.text != "heard: hello" || len(c.Turns()) != 1 {
		t.Errorf("the same call: %+v", got)
	}
}
