package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Reply is what the server does with one request. The zero Reply is a proper
// answer with an empty text.
type Reply struct {
	Text    string
	JSON    any    // marshalled, in place of Text
	Finish  string // empty: "stop"
	Refusal string
	// Reasoning and ReasoningContent fill the fields "reasoning" and
	// "reasoning_content" of the message.
	Reasoning, ReasoningContent string
	Usage                       *Usage // nil: counted from the lengths
	NoChoices                   bool   // the list of choices is empty

	Delay time.Duration // before anything is sent
	Hang  bool          // nothing is sent until the client leaves

	// Of an answer that is wanted as a stream:
	Pieces  []string      // what Text comes in; nil: its words
	Pause   time.Duration // before each piece but the first
	HangAt  int           // after that many pieces nothing more comes until the client leaves; 0: never
	HoldAt  int           // after that many pieces the rest waits until Hold is closed
	Hold    chan struct{} // nil: nothing waits
	AsOne   bool          // it comes as one all the same
	NoUsage bool          // what it used is not told
	NoEnd   bool          // the connection ends without a word after the last piece

	Status      int               // 0: 200
	Header      map[string]string // besides the usual ones
	Body        []byte            // sent as it is, in place of an answer
	ContentType string            // empty: application/json; "-": none
	// CutAt ends the connection after that many bytes of the body; 0: never.
	CutAt int
}

// Usage is what an answer says that it used.
type Usage struct{ In, Out, Cached int64 }

// Text answers with text.
func Text(text string) Reply { return Reply{Text: text} }

// JSON answers with v as JSON.
func JSON(v any) Reply { return Reply{JSON: v} }

// Raw sends body with status as it is.
func Raw(status int, body string) Reply { return Reply{Status: status, Body: []byte(body)} }

// Garbage is a 200 that is not JSON.
func Garbage() Reply { return Raw(http.StatusOK, "\x00\x01 <html>busy</html>") }

// Empty is a 200 with no body.
func Empty() Reply { return Reply{Body: []byte{}} }

// Hang answers nothing until the client leaves.
func Hang() Reply { return Reply{Hang: true} }

// RateLimited is a 429; wait goes into Retry-After when it is not 0.
func RateLimited(wait time.Duration) Reply {
	r := Fail(http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached for requests.")
	if wait > 0 {
		r.Header = map[string]string{"Retry-After": strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)}
	}
	return r
}

// NoStructuredOutput is how the provider refuses a schema for a model that
// cannot do it.
func NoStructuredOutput() Reply {
	return Reply{Status: http.StatusBadRequest, Body: mustJSON(errorBody(
		"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
		"invalid_request_error", "response_format", ""))}
}

// TooLong is how the provider refuses a prompt that does not fit.
func TooLong() Reply {
	return Fail(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded",
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.")
}

// Fail is an error in the provider's format. An empty code is null.
func Fail(status int, kind, code, message string) Reply {
	return Reply{Status: status, Body: mustJSON(errorBody(message, kind, "", code))}
}

// Agreeable answers each role with the shortest thing that works: a plan with
// the ready answer "ok", the review ok, the number that a trial asks for, the text "ok".
func Agreeable(req Request) Reply {
	switch req.Role {
	case "planner":
		return Text(Plan("answer", Answer("ok")))
	case "reviewer":
		return Text(ReviewOK())
	}
	if n := told.FindString(req.System); n != "" {
		return Text(strings.TrimPrefix(n, "The number is "))
	}
	return Text("ok")
}

// told is how a trial's prompt tells a number that has to come back.
var told = regexp.MustCompile(`^The number is [0-9]+`)

func errorBody(message, kind, param, code string) map[string]any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": orNull(param), "code": orNull(code),
	}}
}

func mustJSON(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: reply cannot be marshalled: %v", err))
	}
	return body
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, req Request, reply Reply) {
	if reply.Delay > 0 && !s.wait(r, reply.Delay) {
		return
	}
	if reply.Hang {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	}
	if reply.JSON != nil {
		reply.Text = string(mustJSON(reply.JSON))
	}
	body, kind := reply.Body, "application/json"
	var events [][]byte
	switch {
	case body != nil:
	case req.Stream && !reply.AsOne:
		events, kind = reply.stream(req), "text/event-stream; charset=utf-8"
	default:
		body = mustJSON(reply.completion(req))
	}
	h := w.Header()
	switch reply.ContentType {
	case "":
		h.Set("Content-Type", kind)
	case "-":
		h["Content-Type"] = nil
	default:
		h.Set("Content-Type", reply.ContentType)
	}
	h.Set("X-Request-Id", "req_"+strconv.Itoa(req.N))
	for key, value := range reply.Header {
		h.Set(key, value)
	}
	if events != nil {
		s.sendEvents(w, r, reply, events)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	if reply.CutAt > 0 && reply.CutAt < len(body) {
		body = body[:reply.CutAt] // shorter than Content-Length: net/http cuts the connection
	}
	_, _ = w.Write(body)
}

func (r Reply) usage(req Request) map[string]any {
	u := Usage{In: int64(len(req.System)+len(req.User))/4 + 1, Out: int64(len(r.Text))/4 + 1}
	if req.Read > 0 {
		u.In = int64(req.Read)
	}
	if r.Usage != nil {
		u = *r.Usage
	}
	return map[string]any{
		"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.Cached, "audio_tokens": 0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": 0, "audio_tokens": 0},
	}
}

func (r Reply) finish() string {
	if r.Finish == "" {
		return "stop"
	}
	return r.Finish
}

func (r Reply) completion(req Request) map[string]any {
	message := map[string]any{"role": "assistant", "content": r.Text, "refusal": nil, "annotations": []any{}}
	if r.Refusal != "" {
		message["content"], message["refusal"] = nil, r.Refusal
	}
	if r.Reasoning != "" {
		message["reasoning"] = r.Reasoning
	}
	if r.ReasoningContent != "" {
		message["reasoning_content"] = r.ReasoningContent
	}
	choices := []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": r.finish()}}
	if r.NoChoices {
		choices = []any{}
	}
	answer := r.frame(req, "chat.completion", choices)
	answer["usage"] = r.usage(req)
	return answer
}

func (r Reply) frame(req Request, object string, choices []any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(req.N), "object": object, "created": req.At.Unix(),
		"model": req.Model, "choices": choices, "service_tier": "default", "system_fingerprint": "fp_llmtest",
	}
}
