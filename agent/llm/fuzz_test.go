package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
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
			return &http.Response{StatusCode: status, Header: http.Header{"X-Should-Retry": {"false"}}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
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
				llm.ErrUnknownModel, llm.ErrContextTooLong, llm.ErrUnauthorized, llm.ErrRefused, llm.ErrUnavailable,
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

// However a stream is cut into pieces, it says the same.
func FuzzStream(f *testing.F) {
	for _, body := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"<think>a</think>b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		": x\r\n\r\ndata:{\"choices\":[{\"delta\":\r\ndata: {\"reasoning\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}]}\r\n\r\n",
		"data: {\"error\":{\"code\":429}}\n\n", "event: error\ndata: {}\n\n", "data: {\"usage\":{\"prompt_tokens\":3}}\ndata: [DONE]", "{}", ":",
	} {
		f.Add(body, 3, false)
		f.Add(body, 40, true)
	}
	f.Fuzz(func(t *testing.T, body string, size int, structured bool) {
		ask := func(from func() io.Reader) (string, bool) {
			m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"X-Should-Retry": {"false"}}, Request: r, Body: io.NopCloser(from())}, nil
			}), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			var s shown
			q := s.question(nil)
			if structured {
				q.Schema = schema
			}
			resp, err := m.Complete(t.Context(), llm.Offline, q)
			if string(resp.Exchange.Response) != body {
				t.Errorf("kept %q", resp.Exchange.Response)
			}
			if err == nil && (resp.Text == "" || structured && !json.Valid([]byte(resp.Text))) {
				t.Errorf("taken for an answer: %q", resp.Text)
			}
			return resp.Text, err == nil
		}
		text, ok := ask(func() io.Reader { return strings.NewReader(body) })
		text2, ok2 := ask(func() io.Reader { return &pieces{body, max(1, size%50)} })
		if text != text2 || ok != ok2 {
			t.Errorf("whole: %q %v; in pieces: %q %v", text, ok, text2, ok2)
		}
	})
}

// Pieces gives size bytes at a time.
type pieces struct {
	left string
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if p.left == "" {
		return 0, io.EOF
	}
	n := copy(into, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// What is JSON stays as it is, also in a fence with prose around it; whatever else is
// made of an answer is one object.
func FuzzReadable(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,null,"x\"\\\u00e9"],"b":{}}`, `{'a': "it's", "b": [1,2,],}`, "Sure {x}: {'a': None}", "```json\n{\"a\":\"`\n\"}\n```",
		`{"a":1} or {"a":2}`, `{{{"a"`, `{"a":"<think>b</think>"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ask := func(text string) (string, bool) {
			body, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"content": text}}}})
			if err != nil {
				t.Fatal(err)
			}
			m := answers(t, func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(bytes.NewReader(body))}, nil
			})
			resp, err := m.Complete(t.Context(), llm.Offline, question(schema))
			return resp.Text, err == nil
		}
		text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		got, ok := ask(text)
		switch {
		case json.Valid([]byte(text)):
			if got != text || !ok {
				t.Errorf("%q became %q", text, got)
			}
			if fenced, ok := ask("Here it is:\n```json\n" + text + "\n```\nDone."); strings.HasPrefix(text, "{") && !strings.Contains(text, "think>") && (!ok || !sameJSON(fenced, text)) {
				t.Errorf("%q became %q", text, fenced)
			}
		case ok && (!json.Valid([]byte(got)) || !strings.HasPrefix(got, "{")):
			t.Errorf("%q became %q", text, got)
		}
	})
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
