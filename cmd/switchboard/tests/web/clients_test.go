//go:build linux && clients

package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The official clients talk to the program: with SWITCHBOARD_TEST_RECORD set, what they send is kept for TestRecordedCallsOfClients.
func TestOfficialClients(t *testing.T) {
	for _, of := range []struct{ name, setUp, run string }{
		{"node", "npm ci --no-audit --no-fund", "node client.mjs"},
	} {
		t.Run(of.name, func(t *testing.T) {
			c := openAI(t, "", clerkOfClients(t))
			between := httptest.NewServer(&recorder{t: t, to: c.Address, client: of.name, lost: map[string]bool{}})
			defer between.Close()
			for _, line := range []string{of.setUp, of.run} {
				words := strings.Fields(line)
				cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
				cmd.Dir, cmd.Env = of.name, append(os.Environ(), "BASE="+between.URL, "KEY=one")
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v\n%s%s", line, err, out, errs.String())
				}
				if line == of.run {
					checkClient(t, out)
				}
			}
			var asked []string
			for _, turn := range c.Turns() {
				asked = append(asked, turn.Text)
			}
			if got := strings.Join(asked, ", "); got != "once, wait, what is this?, run echo hi, hello" {
				t.Errorf("turns: %s", got)
			}
		})
	}
}

// checkClient compares what a client came to in each step.
func checkClient(t *testing.T, out []byte) {
	want := map[string]string{
		"list": "switchboard switchboard-plain", "complete": "heard: hello", "stream": "ran: echo hi", "image": "heard: what is this? with picture-1.png",
		"key": "refused", "abort": "left", "retry": "heard: once",
	}
	for line := range bytes.Lines(out) {
		var got struct {
			Step, Text, Finish string
			Tokens             int
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got.Text != want[got.Step] || (got.Step == "complete" || got.Step == "stream") && (got.Finish != "stop" || got.Tokens == 0) {
			t.Errorf("%s, want %q", line, want[got.Step])
		}
		delete(want, got.Step)
	}
	if len(want) > 0 {
		t.Errorf("not done: %v\n%s", want, out)
	}
}

// A recorder stands between a client and the program: a call comes as /STEP/v1/…
type recorder struct {
	t          *testing.T
	to, client string
	mu         sync.Mutex
	lost       map[string]bool
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, rest, _ := strings.Cut(req.URL.Path, "/")
	step, path, _ := strings.Cut(rest, "/")
	req.URL.Path = "/" + path
	req.RequestURI = req.URL.Path
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client left
	}
	req.Body = io.NopCloser(bytes.NewReader(text))
	if os.Getenv("SWITCHBOARD_TEST_RECORD") != "" {
		r.keep(step, req)
	}
	r.mu.Lock()
	lose := step == "retry" && !r.lost[step]
	r.lost[step] = true
	r.mu.Unlock()
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", r.to, r.to
	}}
	if lose {
		proxy.ModifyResponse = func(*http.Response) error { panic(http.ErrAbortHandler) } // it was answered, and nobody reads it
	}
	proxy.ServeHTTP(w, req)
}

// keep writes a call down as it came.
func (r *recorder) keep(step string, req *http.Request) {
	text, err := httputil.DumpRequest(req, true)
	if err == nil {
		lines := strings.SplitAfter(string(text), "\r\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "Host:") {
				lines[i] = "Host: localhost\r\n"
			}
		}
		err = os.WriteFile(filepath.Join("testdata", "clients", r.client+"-"+step+".http"), []byte(strings.Join(lines, "")), 0o600)
	}
	if err != nil {
		r.t.Error(err)
	}
}
