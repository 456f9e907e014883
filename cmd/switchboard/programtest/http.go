//go:build linux

package programtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

// Token is a [[server.tokens]] of a name, which is its value too, with scopes, and people for whom it may speak.
func Token(name string, scopes []string, people ...string) string {
	list := func(of []string) string {
		text, _ := json.Marshal(append([]string{}, of...))
		return string(text)
	}
	return fmt.Sprintf("[[server.tokens]]\nname = %q\nvalue = %q\nscopes = %s\npeople = %s\n", name, name, list(scopes), list(people))
}

// A Web is a program that calls the HTTP API with a token.
type Web struct {
	Address string // HOST:PORT
	Token   string
}

// Web is a program with a token that calls the server, which says that it is ready, at the address that it says it has.
func (s *Server) Web(token string) Web {
	s.T.Helper()
	var found [][]string
	testkit.Await(s.T, "the program says where the HTTP API is", Patience, func() bool {
		s.MustLive()
		found = address.FindAllStringSubmatch(s.Log.String(), -1)
		return len(found) > 0
	})
	return Web{found[len(found)-1][1], token}
}

var address = regexp.MustCompile(`"ready".*"http":"([^"]+)"`)

// Do makes a call, with a body unless that is nil, and returns what was answered. An error says that no complete answer came.
func (w Web) Do(ctx context.Context, method, path string, body any, headers ...string) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+w.Address+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+w.Token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// Get makes a call that has to succeed and decodes what it answers.
func (w Web) Get(t testing.TB, path string, into any) {
	t.Helper()
	w.Call(t, http.MethodGet, path, nil, http.StatusOK, into)
}

// Call makes a call that has to be answered with a status, and decodes the answer.
func (w Web) Call(t testing.TB, method, path string, body any, want int, into any, headers ...string) {
	t.Helper()
	status, answer, err := w.Do(t.Context(), method, path, body, headers...)
	if err != nil || status != want {
		t.Fatalf("%s %s: %d %s, %v; want %d", method, path, status, answer, err, want)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// Follow hands each event of a session after number n to take, until that says no or the stream ends.
func (w Web) Follow(ctx context.Context, session string, n int64, take func(channels.SessionEvent) bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Address+"/v1/sessions/"+session+"/events", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+w.Token)
	r.Header.Set("Last-Event-ID", strconv.FormatInt(n, 10))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return channels.ReadEvents(resp.Body, take)
}
