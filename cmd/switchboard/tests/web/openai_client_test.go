//go:build linux

package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A client calls the program as clients of the OpenAI API do.
type client struct {
	*programtest.Rig
	programtest.Web
}

// openAI is a program with the fake model, a token that speaks for ada, and one that speaks for two.
func openAI(t *testing.T, extra string, think func(llmtest.Request) llmtest.Reply) client {
	t.Helper()
	address := testkit.FreeAddress(t)
	r := programtest.PlannedBy(t, extra+fmt.Sprintf("[server]\nlisten = %q\n", address)+
		programtest.Token("one", []string{"messages", "read"}, "ada")+programtest.Token("two", []string{"messages", "read"}, "ada", "bob"), think, "ada", "bob")
	r.Ready()
	return client{r, programtest.Web{Address: address, Token: "one"}}
}

// an is one message of a call.
func an(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }

// body is that of a call.
func body(messages ...map[string]any) map[string]any {
	return map[string]any{"model": "switchboard", "messages": messages}
}

func with(b map[string]any, key string, value any) map[string]any {
	b[key] = value
	return b
}

// An answered is what a call came to.
type answered struct {
	text, thoughts, finish, session string
	chunks                          []map[string]any
	lines                           []string // of a stream, as they came
	usage                           map[string]any
	failed                          string
}

// ask makes a call and reads its answer, whole or as a stream.
func (c client) ask(call map[string]any, headers ...string) (got answered) {
	c.T.Helper()
	text, err := json.Marshal(call)
	if err != nil {
		c.T.Fatal(err)
	}
	status, got := c.send(c.T.Context(), text, headers...)
	if status != http.StatusOK {
		c.T.Fatalf("%s: %d %s", text, status, got.text)
	}
	return got
}

// send sends the bytes of a call.
func (c client) send(ctx context.Context, text []byte, headers ...string) (status int, got answered) {
	c.T.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Address+"/v1/chat/completions", bytes.NewReader(text))
	if err != nil {
		c.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, answered{failed: err.Error()}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if got.session = resp.Header.Get("X-Session-Id"); err != nil {
		got.failed = err.Error()
	}
	if resp.StatusCode != http.StatusOK {
		got.text = string(answer)
		return resp.StatusCode, got
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		got.take(c, answer)
		return resp.StatusCode, got
	}
	got.lines = strings.Split(strings.TrimSpace(string(answer)), "\n")
	for _, line := range got.lines {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
			got.take(c, []byte(data))
		}
	}
	return resp.StatusCode, got
}

// take reads one JSON of an answer.
func (a *answered) take(c client, text []byte) {
	c.T.Helper()
	var chunk map[string]any
	if err := json.Unmarshal(text, &chunk); err != nil {
		c.T.Fatalf("%v: %s", err, text)
	}
	a.chunks = append(a.chunks, chunk)
	if usage, ok := chunk["usage"].(map[string]any); ok {
		a.usage = usage
	}
	if failed, ok := chunk["error"].(map[string]any); ok {
		a.failed = fmt.Sprint(failed["code"])
	}
	choices, _ := chunk["choices"].([]any)
	for _, choice := range choices {
		of := choice.(map[string]any)
		for _, key := range []string{"delta", "message"} {
			if said, ok := of[key].(map[string]any); ok {
				text, _ := said["content"].(string)
				thought, _ := said["reasoning_content"].(string)
				a.text, a.thoughts = a.text+text, a.thoughts+thought
			}
		}
		if finish, ok := of["finish_reason"].(string); ok {
			a.finish = finish
		}
	}
}

// growing asks for a stream and returns its text; grows is closed when some of that is there.
func growing(r *programtest.Rig, address, question string, grows chan bool) (text string) {
	call := fmt.Sprintf(`{"model":"switchboard","stream":true,"messages":[{"role":"user","content":%q}]}`, question)
	req, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(call))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer one")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); !ok || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		if text == "" && chunk.Choices[0].Delta.Content != "" {
			close(grows)
		}
		text += chunk.Choices[0].Delta.Content
	}
	return text
}
