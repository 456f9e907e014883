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
	answer := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	var q request
	var text string
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		answer.StatusCode, text = http.StatusNotFound, fault("the offline model knows POST /chat/completions only")
	case json.Unmarshal(body.Bytes(), &q) != nil:
		answer.StatusCode, text = http.StatusBadRequest, fault("the request is not JSON")
	case q.Stream:
		answer.Header.Set("Content-Type", "text/event-stream")
		answer.ContentLength, answer.Body = -1, io.NopCloser(&events{t.stream(q, body.Len())})
	default:
		text = encode(t.completion(q, body.Len()))
	}
	if answer.Body == nil {
		answer.ContentLength, answer.Body = int64(len(text)), io.NopCloser(strings.NewReader(text))
	}
	answer.Status = fmt.Sprint(answer.StatusCode, " ", http.StatusText(answer.StatusCode))
	return answer, nil
}

// frame is what an answer and each event of a stream have in common.
func (t transport) frame(q request, object string, choices ...any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-offline", "object": object, "created": t.now().Unix(), "model": q.Model,
		"choices": append([]any{}, choices...),
	}
}

// usage takes four bytes for a token.
func usage(asked, said int) map[string]any {
	in, out := asked/4, said/4+1
	return map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

func (t transport) completion(q request, asked int) map[string]any {
	text := q.answer()
	said := t.frame(q, "chat.completion", map[string]any{
		"index": 0, "message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop",
	})
	said["usage"] = usage(asked, len(text))
	return said
}

func fault(message string) string {
	return encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
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
