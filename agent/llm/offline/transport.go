package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// New returns the transport. Any number of requests may use it at once; it
// answers at once, and with the context's error when that has ended. now dates
// the answers, nothing else.
func New(now func() time.Time) http.RoundTripper { return transport{now} }

type transport struct{ now func() time.Time }

// A request is what is read of a chat completion's request.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	ResponseFormat struct {
		JSONSchema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Stream bool `json:"stream"`
}

// RoundTrip answers like a server for chat completions.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // it was read or is of no use
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return refuse(r, http.StatusNotFound, "the offline model knows POST /chat/completions only"), nil
	}
	var body bytes.Buffer
	body.Grow(int(max(0, min(r.ContentLength, 1<<20))))
	if _, err := body.ReadFrom(r.Body); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	var q request
	if json.Unmarshal(body.Bytes(), &q) != nil || q.Stream {
		return refuse(r, http.StatusBadRequest, "the request is not JSON, or wants a stream"), nil
	}
	text := q.answer()
	in, out := body.Len()/4, len(text)/4+1
	return respond(r, http.StatusOK, map[string]any{
		"id": "chatcmpl-offline", "object": "chat.completion", "created": t.now().Unix(), "model": q.Model,
		"choices": []any{map[string]any{
			"index": 0, "message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop",
		}},
		"usage": map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	}), nil
}

// answer plays the role that the schema tells.
func (q request) answer() string {
	var system, user string
	for _, m := range q.Messages {
		if m.Role == "user" {
			user += m.Content
		} else {
			system += m.Content
		}
	}
	prompt := read(user)
	switch q.ResponseFormat.JSONSchema.Name {
	case "":
		return work(prompt)
	case "plan":
		return encode(makePlan(read(system), prompt))
	case "review":
		return encode(judge(prompt))
	}
	return encode(fill(q.ResponseFormat.JSONSchema.Schema, nil))
}

func encode(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // nothing we encode can fail
	return strings.TrimSuffix(out.String(), "\n")
}

func refuse(r *http.Request, status int, message string) *http.Response {
	return respond(r, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
}

func respond(r *http.Request, status int, v any) *http.Response {
	body := encode(v)
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
}
