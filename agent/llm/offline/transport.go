package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	asked := cmp.Or[io.ReadCloser](r.Body, http.NoBody)
	defer asked.Close() //nolint:errcheck // it was read or is of no use
	body, err := io.ReadAll(asked)
	if err = cmp.Or(r.Context().Err(), err); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	status, said := t.serve(r, body)
	return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(io.MultiReader(said...))}, nil
}

// serve says the whole answer, or the events of a stream, each to be read by itself.
func (t transport) serve(r *http.Request, body []byte) (status int, said []io.Reader) {
	var q request
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return http.StatusNotFound, fault("the offline model knows POST /chat/completions only")
	case json.Unmarshal(body, &q) != nil:
		return http.StatusBadRequest, fault("the request is not JSON")
	}
	text := q.answer()
	say := func(object, key, piece string, finish any) string {
		return encode(map[string]any{
			"id": "chatcmpl-offline", "object": object, "created": t.now().Unix(), "model": q.Model,
			"choices": []any{map[string]any{"index": 0, key: map[string]any{"role": "assistant", "content": piece}, "finish_reason": finish}},
			"usage":   map[string]any{"prompt_tokens": len(body) / 4, "completion_tokens": len(text)/4 + 1, "total_tokens": len(body)/4 + len(text)/4 + 1},
		})
	}
	if !q.Stream {
		return http.StatusOK, append(said, strings.NewReader(say("chat.completion", "message", text, "stop")))
	}
	for piece := range slices.Chunk([]rune(text), 48) {
		said = append(said, strings.NewReader("data: "+say("chat.completion.chunk", "delta", string(piece), nil)+"\n\n"))
	}
	return http.StatusOK, append(said, strings.NewReader("data: "+say("chat.completion.chunk", "delta", "", "stop")+"\n\ndata: [DONE]\n\n"))
}

func fault(message string) []io.Reader {
	return []io.Reader{strings.NewReader(encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}}))}
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
	case "look":
		return encode(lookFor(user))
	case "curate":
		return encode(curate(user))
	case "summary":
		return encode(sumUp(user))
	case "consolidate":
		return encode(merge(user))
	default:
		return encode(fill(schema.Schema))
	}
}

func encode(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // nothing we encode can fail
	return strings.TrimSuffix(out.String(), "\n")
}
