package decision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/internal/testkit"
)

// serve is a service at a real server; asked counts the questions.
func serve(t *testing.T, handler http.HandlerFunc) (s *Service, asked *atomic.Int32, log *testkit.Log) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler(w, r)
	}))
	log = &testkit.Log{}
	s = &Service{Log: slog.New(slog.NewTextHandler(log, nil))}
	s.Apply(server.URL+"/v1/data/switchboard/allow?key=hunter2", "t0ken")
	t.Cleanup(func() {
		s.Apply("", "")
		server.Close()
	})
	return s, asked, log
}

func TestOnlyAPlainYesAllows(t *testing.T) {
	t.Parallel()
	says := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	elsewhere, asked, _ := serve(t, says(200, `{"result": true}`))
	for name, c := range map[string]struct {
		answers http.HandlerFunc
		want    error
	}{
		"true":                     {says(200, `{"result": true}`), nil},
		"an object that allows":    {says(200, `{"decision_id": "4c", "result": {"allow": true, "why": ["x"]}}`), nil},
		"spaces":                   {says(200, " {\n\"result\" : {\"allow\" :\ttrue }\n}\n"), nil},
		"false":                    {says(200, `{"result": false}`), ErrRefused},
		"an object that does not":  {says(200, `{"result": {"allow": false}}`), ErrRefused},
		"an object without allow":  {says(200, `{"result": {}}`), ErrRefused},
		"undefined":                {says(200, `{}`), ErrRefused},
		"undefined with a warning": {says(200, `{"warning": {"code": "api_usage_warning"}}`), ErrRefused},
		"null":                     {says(200, `{"result": null}`), ErrRefused},
		"a word":                   {says(200, `{"result": "true"}`), ErrRefused},
		"a number":                 {says(200, `{"result": 1}`), ErrRefused},
		"a list":                   {says(200, `{"result": [true]}`), ErrRefused},
		"allow is a word":          {says(200, `{"result": {"allow": "true"}}`), ErrRefused},
		"deeper":                   {says(200, `{"result": {"allow": {"allow": true}}}`), ErrRefused},
		"other letters":            {says(200, `{"Result": true}`), ErrRefused},
		"allow beside the result":  {says(200, `{"allow": true}`), ErrRefused},
		"a bare true":              {says(200, `true`), ErrNoAnswer},
		"nothing":                  {says(200, ``), ErrNoAnswer},
		"a page":                   {says(200, `<html>true</html>`), ErrNoAnswer},
		"half an answer":           {says(200, `{"result": true`), ErrNoAnswer},
		"two answers":              {says(200, `{"result": true}{"result": true}`), ErrNoAnswer},
		"not found, in good faith": {says(404, `{"result": true}`), ErrNoAnswer},
		"no content":               {says(204, ``), ErrNoAnswer},
		"created":                  {says(201, `{"result": true}`), ErrNoAnswer},
		"a fault":                  {says(500, `{"code": "internal_error"}`), ErrNoAnswer},
		"a body that is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, `{"result": true}`)
		}, ErrNoAnswer},
		"a connection that is shut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrNoAnswer},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.now.Load().address, http.StatusTemporaryRedirect)
		}, ErrNoAnswer},
		"a gigabyte": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"result": true, "x": "`)
			for piece := bytes.Repeat([]byte("x"), 1<<20); ; {
				if n, err := w.Write(piece); err != nil || n == 0 {
					return
				}
			}
		}, ErrNoAnswer},
		"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrNoAnswer},
		"silence after the beginning": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"result": true`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, ErrNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, log := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that its end is seen
				c.answers(w, r)
			})
			err := s.Ask(t.Context(), Question{Action: ToolExecute, Tool: "time"})
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%v, want %v", err, c.want)
			}
			if logged := log.String(); strings.Contains(logged, "hunter2") || strings.Contains(logged, "t0ken") || (logged == "") == errors.Is(c.want, ErrNoAnswer) {
				t.Errorf("the log has %q", logged)
			}
		})
	}
	t.Cleanup(func() {
		if asked.Load() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

// What is asked is what Open Policy Agent reads: POST /v1/data/PATH with an input.
// https://www.openpolicyagent.org/docs/rest-api#get-a-document-with-input
func TestQuestionIsAnInput(t *testing.T) {
	t.Parallel()
	s, _, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		in := body["input"]
		if r.Method != http.MethodPost || r.URL.String() != "/v1/data/switchboard/allow?key=hunter2" || r.Header.Get("Authorization") != "Bearer t0ken" ||
			r.Header.Get("Content-Type") != "application/json" || len(body) != 1 || len(in) != 9 {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, body)
		}
		_ = json.NewEncoder(w).Encode(map[string]bool{"result": in["action"] == "memory.write" && in["person"] == "ada" && in["role"] == "user" &&
			in["channel"] == "telegram" && in["scope"] == "person:ada" && in["kind"] == "fact" && in["taint"] == "" && in["tool"] == "" && in["effect"] == ""})
	})
	if err := s.Ask(t.Context(), Question{Action: MemoryWrite, Person: "ada", Role: "user", Channel: "telegram", Scope: "person:ada", Kind: "fact"}); err != nil {
		t.Error(err)
	}
}

func TestAnswersHoldForTwoSeconds(t *testing.T) {
	t.Parallel()
	var allow atomic.Bool
	s, asked, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]bool{"result": allow.Load()})
	})
	ask := func(tool string, want error) {
		t.Helper()
		if err := s.Ask(t.Context(), Question{Action: ToolExecute, Tool: tool}); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tool, err, want)
		}
	}
	older := func() { // by more than two seconds
		at := s.now.Load()
		for q, a := range at.kept {
			at.kept[q] = answer{a.err, a.until.Add(-remembered - time.Millisecond)}
		}
	}
	ask("one", ErrRefused)
	allow.Store(true)
	ask("one", ErrRefused)
	ask("two", nil)
	allow.Store(false)
	ask("two", nil)
	ask("one", ErrRefused)
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	older()
	ask("two", ErrRefused)
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
	for i := range 3 * mostKept {
		s.now.Load().keep(Question{Tool: strings.Repeat("x", i)}, false, nil)
	}
	if n := len(s.now.Load().kept); n > mostKept {
		t.Errorf("%d answers are kept", n)
	}
	allow.Store(true)
	s.Apply(s.now.Load().address+"&other", "t0ken") // other settings begin without
	ask("two", nil)
	s.Apply("", "")
	ask("one", nil)
}

// What is not answered in time is refused for two seconds, and nothing else; who leaves meanwhile says nothing of the service. While it
// cannot be reached nothing is asked, and what it answered before holds.
func TestSilenceIsNotWaitedForAgain(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 10)
	s, asked, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if began <- struct{}{}; strings.Contains(string(text), `"slow"`) {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"result": true}`)
	})
	ask := func(tool string, want error) {
		t.Helper()
		if err := s.Ask(t.Context(), Question{Tool: tool}); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tool, err, want)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	if err := s.Ask(ctx, Question{Tool: "slow"}); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	if n := len(s.now.Load().kept); n != 0 {
		t.Errorf("%d answers are kept of a question that nobody waited for", n)
	}
	if err := s.Ask(t.Context(), Question{Tool: "slow"}); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "nothing came within 2s") {
		t.Error(err)
	}
	ask("slow", ErrNoAnswer)
	ask("other", nil)
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
	known := s.now.Load().kept
	s.Apply("http://127.0.0.1:1/", "") // nobody listens
	s.now.Load().kept = known
	ask("another", ErrNoAnswer)
	ask("other", nil)
	if known[Question{}].err == nil {
		t.Error("it is asked again at once")
	}
}

// Without a service nothing is made.
func TestNoServiceCostsNothing(t *testing.T) {
	var none Service
	var nothing *Service
	none.Apply("", "")
	q := Question{Action: ToolExecute, Person: "ada"}
	if n := testing.AllocsPerRun(100, func() {
		if none.Set() || nothing.Set() || none.Ask(t.Context(), q) != nil || nothing.Ask(t.Context(), q) != nil {
			t.Error("something is refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
