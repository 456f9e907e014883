//go:build linux

package web_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// clerkOfClients plans as Clerk does, and names the pictures that come along.
func clerkOfClients(t *testing.T) func(llmtest.Request) llmtest.Reply {
	return func(req llmtest.Request) llmtest.Reply {
		_, name, pictured := strings.Cut(req.Section("Attachments"), `"picture`)
		name, _, _ = strings.Cut(name, `"`)
		switch {
		case strings.Contains(req.User, "<chat_history>"):
			return llmtest.Text(`{"title": "A chat"}`)
		case pictured:
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+programtest.Said(req)+" with picture"+name)))
		}
		return programtest.Clerk(req)
	}
}

// What clients sent once is answered as it was then. Those of node are recorded (make clients); those of Open WebUI are written in the
// shape in which backend/open_webui/routers/openai.py and tasks.py of github.com/open-webui/open-webui send them, in our words.
func TestRecordedCallsOfClients(t *testing.T) {
	c := openAI(t, "", clerkOfClients(t))
	sessions := map[string]string{}
	for _, of := range []struct {
		file   string
		status int
		says   string
		turns  int // there are then
	}{
		{"node-list", 200, `"id":"switchboard-plain"`, 0},
		{"node-complete", 200, "heard: hello", 1},
		{"node-stream", 200, "ran: echo hi", 2},
		{"node-image", 200, "heard: what is this? with picture-1.png", 3},
		{"node-key", 401, "unauthorized", 3},
		{"node-abort", 200, "heard: wait", 4},
		{"node-retry", 200, "heard: once", 5},
		{"openwebui-chat", 200, "heard: What is the tallest mountain?", 6},
		{"openwebui-title", 200, `{\"title\": \"A chat\"}`, 6},
		{"openwebui-tags", 200, `{\"title\": \"A chat\"}`, 6},
		{"openwebui-next", 200, "heard: And the second?", 7},
		{"openwebui-regenerate", 200, "heard: And the second?", 8},
	} {
		status, header, answer := c.replay(filepath.Join("testdata", "clients", of.file+".http"))
		if status != of.status || !strings.Contains(answer, of.says) {
			t.Errorf("%s: %d %s", of.file, status, answer)
		}
		if n := len(c.Turns()); n != of.turns {
			t.Errorf("%s: %d turns, want %d", of.file, n, of.turns)
		}
		sessions[of.file] = header.Get("X-Session-Id")
	}
	chat := "0b6f7d9e-2f0c-4f0e-9a53-3f1f6a1f8f5e"
	if again := sessions["openwebui-regenerate"]; sessions["openwebui-chat"] != chat || sessions["openwebui-next"] != chat || !strings.HasPrefix(again, chat+".") {
		t.Errorf("sessions: %v", sessions)
	}
}

// replay sends a call as it was written down, with the token where it had one.
func (c client) replay(path string) (status int, header http.Header, answer string) {
	c.T.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.T.Fatal(err)
	}
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		c.T.Fatalf("%s: %v", path, err)
	}
	req.URL.Scheme, req.URL.Host, req.Host, req.RequestURI = "http", c.Address, "", ""
	resp, err := http.DefaultClient.Do(req.WithContext(c.T.Context()))
	if err != nil {
		c.T.Fatal(err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Error(err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		var got answered
		for line := range strings.Lines(string(read)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" {
				got.take(c, []byte(data))
			}
		}
		return resp.StatusCode, resp.Header, got.text
	}
	return resp.StatusCode, resp.Header, string(read)
}
