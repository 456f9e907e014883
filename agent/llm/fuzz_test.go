package llm_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm"
)

// Whatever a server answers: either there is a text, free of thoughts, or an
// error that the caller can tell apart.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{"choices":[{"message":{"content":"<think>a</think>b"},"finish_reason":"stop"}]}`, false)
	f.Add(200, `{"choices":[{"message":{"content":"</think>{}","reasoning":{"a":1}}}],"usage":null}`, true)
	f.Add(200, `{"choices":[{"message":{"content":[{"type":"text","text":"x"},3]}}]}`, false)
	f.Add(200, `{"error":{"message":"x","code":"404"}}`, false)
	f.Add(400, `{"error":"context length"}`, true)
	f.Add(422, `{"detail":[{"msg":"response_format unknown"}]}`, true)
	f.Fuzz(func(t *testing.T, status int, body string, structured bool) {
		status = 200 + max(0, status%400)
		if slices.Contains([]int{301, 302, 303, 307, 308}, status) {
			t.Skip("followed by the HTTP client")
		}
		m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
		}), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		q := question(nil)
		if structured {
			q.Schema = schema
		}
		resp, err := m.Complete(t.Context(), llm.Offline, q)
		if string(resp.Exchange.Response) != body {
			t.Errorf("kept %q", resp.Exchange.Response)
		}
		if err != nil {
			_, limited := errors.AsType[*llm.RateLimitError](err)
			if !limited && !slices.ContainsFunc([]error{
				llm.ErrUnknownModel, llm.ErrNoStructuredOutput, llm.ErrContextTooLong, llm.ErrUnauthorized, llm.ErrRefused, llm.ErrUnavailable,
			}, func(known error) bool { return errors.Is(err, known) }) {
				t.Errorf("nameless error %v", err)
			}
			return
		}
		if resp.Text == "" || structured && !json.Valid([]byte(resp.Text)) {
			t.Errorf("taken for an answer: %q", resp.Text)
		}
		if open := strings.Index(resp.Text, "<think>"); !structured && open >= 0 && strings.Contains(resp.Text[open:], "</think>") {
			t.Errorf("thoughts in %q", resp.Text)
		}
	})
}
