package llm_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// An answer that is broken in its body is asked for again like one that is a 500.
func TestBrokenAnswersAreAskedForAgain(t *testing.T) {
	t.Parallel()
	const good, beginning = `{"goal":"x"}`, `data: {"choices":[{"delta":{"content":"{"}}]}` + "\n\n"
	for name, tt := range map[string]struct {
		broken llmtest.Reply
		stream bool
	}{
		"500":                   {broken: llmtest.Raw(500, `{"error":{"message":"boom"}}`)},
		"cut off":               {broken: llmtest.Reply{Text: good, CutAt: 40}},
		"garbage":               {broken: llmtest.Garbage()},
		"empty body":            {broken: llmtest.Empty()},
		"no choices":            {broken: llmtest.Reply{NoChoices: true}},
		"no answer in a choice": {broken: llmtest.Raw(200, `{"choices":[{}]}`)},
		"500 in a 200":          {broken: llmtest.Raw(200, `{"error":{"code":500}}`)},
		"limit in a 200":        {broken: llmtest.Raw(200, `{"error":{"message":"slow down","code":429}}`)},
		"stream, cut off":       {broken: llmtest.Reply{Text: strings.Repeat("word ", 50), CutAt: 2000}, stream: true},
		"stream, no end":        {broken: llmtest.Reply{Text: good, NoEnd: true}, stream: true},
		"stream, garbage":       {broken: llmtest.Garbage(), stream: true},
		"stream, garbled":       {broken: llmtest.Raw(200, beginning+"data: {\"cho\n\ndata: [DONE]\n\n"), stream: true},
		"stream, no choices":    {broken: llmtest.Raw(200, "data: [DONE]\n\n"), stream: true},
		"stream, 500":           {broken: llmtest.Raw(200, beginning+"data: {\"error\":{\"code\":500}}\n\n"), stream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.broken, tt.broken, llmtest.Text(good))
			m, q := models(t, srv.URL()), question(schema)
			if tt.stream {
				q.Stream = func(string) bool { return false }
			}
			resp, err := m.Complete(t.Context(), "smart", q)
			if err != nil || resp.Text != good || srv.Count() != 3 {
				t.Errorf("answer %q after %d requests, error %v", resp.Text, srv.Count(), err)
			}
			srv.Script(tt.broken)
			_, err = m.Complete(t.Context(), "smart", q)
			if _, limited := errors.AsType[*llm.RateLimitError](err); !limited && !errors.Is(err, llm.ErrUnavailable) || srv.Count() != 6 {
				t.Errorf("error %v after %d requests more", err, srv.Count()-3)
			}
		})
	}
}

// What somebody was shown a part of is not begun anew by the same model.
func TestShownAnswersAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: strings.Repeat("word ", 50), CutAt: 2000})
	var s shown
	if _, err := models(t, srv.URL()).Complete(t.Context(), "smart", s.question(nil)); !errors.Is(err, llm.ErrUnavailable) || srv.Count() != 1 {
		t.Errorf("error %v after %d requests", err, srv.Count())
	}
}

// answers is a Models whose built-in model is next.
func answers(t *testing.T, next roundTrip) *llm.Models {
	t.Helper()
	m, err := llm.New(llm.Config{}, next, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTriesEndWithin30Seconds(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]int{"29": 2, "14": 3, "31": 1, "0": 3} {
		t.Run("retry after "+after+" s", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				m := answers(t, func(r *http.Request) (*http.Response, error) {
					tries++
					return &http.Response{
						StatusCode: 503, Header: http.Header{"Retry-After": {after}}, Request: r,
						Body: io.NopCloser(strings.NewReader("busy")),
					}, nil
				})
				q := question(nil)
				q.Timeout = time.Hour
				started := time.Now()
				_, err := m.Complete(t.Context(), llm.Offline, q)
				if took := time.Since(started); !errors.Is(err, llm.ErrUnavailable) || tries != want || took > 30*time.Second {
					t.Errorf("error %v after %d tries in %s, want %d", err, tries, took, want)
				}
			})
		})
	}
}

// endless is a stream that never ends.
type endless struct {
	event string
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= len(e.event) {
		n += copy(p[n:], e.event)
	}
	e.read += n
	return n, nil
}

func (e *endless) Close() error { return nil }

func TestEndlessStreamsEndAtTheLimit(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{
		"text":     `data: {"choices":[{"delta":{"content":"and so on "}}]}` + "\n\n",
		"thoughts": `data: {"choices":[{"delta":{"reasoning":"and so on "}}]}` + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &endless{event: event}
			m := answers(t, func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: body}, nil
			})
			var s shown
			resp, err := m.Complete(t.Context(), llm.Offline, s.question(nil))
			if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "max_output_tokens") || resp.Finish != "length" {
				t.Errorf("finish %q, error %v", resp.Finish, err)
			}
			const limit = 4096 * 32
			if len(resp.Text) > limit+8<<10 || body.read > limit*10 || name == "text" && len(resp.Text) < 4096*4 {
				t.Errorf("read %d bytes, %d of text", body.read, len(resp.Text))
			}
		})
	}
}
