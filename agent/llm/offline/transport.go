package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// New returns the transport, for any number of requests at once. It does not wait;
// the error of a context that ended is its own. now dates the answers, nothing else.
func New(now func() time.Time) http.RoundTripper { return transport{now} }

type transport struct{ now func() time.Time }

// A request is what is read of a chat completion's request.
type request struct {
	Model          string
	Messages       []struct{ Role, Content string }
	ResponseFormat struct {
		JSONSchema struct {
			Name   string
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
	Stream bool
}

// RoundTrip answers like a server for chat completions.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body bytes.Buffer
	var err error
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // it was read or is of no use
		_, err = body.ReadFrom(r.Body)
	}
	if err = cmp.Or(r.Context().Err(), err); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	status, said := t.serve(r, body.Bytes())
	text := encode(said)
	return &http.Response{
		Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

func (t transport) serve(r *http.Request, body []byte) (status int, said map[string]any) {
	var q request
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return http.StatusNotFound, fault("the offline model knows POST /chat/completions only")
	case json.Unmarshal(body, &q) != nil || q.Stream:
		return http.StatusBadRequest, fault("the request is not JSON, or wants a stream")
	}
	text := q.answer()
	in, out := len(body)/4, len(text)/4+1
	return http.StatusOK, map[string]any{
		"id": "chatcmpl-offline", "object": "chat.completion", "created": t.now().Unix(), "model": q.Model,
		"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	}
}

func fault(message string) map[string]any {
	return map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}}
}

// answer plays the role that the schema tells.
func (q request) answer() string {
	texts := make(map[string]string)
	for _, m := range q.Messages {
		texts[m.Role] += m.Content
	}
	user := read(texts["user"])
	switch schema := q.ResponseFormat.JSONSchema; schema.Name {
	case "":
		return work(user)
	case "plan":
		return encode(makePlan(read(texts["system"]+texts["developer"]), user))
	case "review":
		return encode(judge(user))
	default:
		return encode(fill(schema.Schema, nil))
	}
}

func encode(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // nothing we encode can fail
	return strings.TrimSuffix(out.String(), "\n")
}
