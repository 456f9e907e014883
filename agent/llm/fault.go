package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// fault names what an error answer means for the caller; body is clean.
func (p *provider) fault(status int, header http.Header, body []byte, t target, req Request) error {
	said := complaint(body)
	low := strings.ToLower(said)
	switch {
	case status == http.StatusTooManyRequests:
		return &RateLimitError{RetryAfter: retryAfter(header), Err: fmt.Errorf("%d: %s", status, said)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w (%d: %s); check llm.providers.%s.api_key", ErrUnauthorized, status, said, p.name)
	case status == http.StatusRequestEntityTooLarge || anyOf(low, tooLong):
		return fmt.Errorf("%w (%d: %s); a model with a longer context is needed, or context_tokens is set too high", ErrContextTooLong, status, said)
	case req.Schema != nil && lacksStructure(low):
		return fmt.Errorf("provider %q, model %q: %w (%d: %s); route the roles planner and reviewer to a model that can do strict JSON schemas: [agent] planner, reviewer",
			p.name, t.id, ErrNoStructuredOutput, status, said)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w %q (%d: %s); check the model's name and llm.providers.%s.base_url", ErrUnknownModel, t.id, status, said, p.name)
	case status >= http.StatusInternalServerError, status < http.StatusBadRequest, status == http.StatusRequestTimeout,
		status == http.StatusConflict, status == http.StatusTooEarly:
		return fmt.Errorf("%w (%d: %s)", ErrUnavailable, status, said)
	}
	return fmt.Errorf("%w (%d: %s)", ErrRefused, status, said)
}

// How servers say that a prompt does not fit.
var tooLong = []string{
	"context_length_exceeded", "maximum context length", "context length", "context window", "context size",
	"exceed_context", "prompt is too long", "input is too long", "too many tokens", "maximum prompt length", "context limit",
}

// How servers speak of structured output, and how they say that they lack it. A
// schema that they find wrong ("invalid schema") is another matter.
var (
	structure = []string{"response_format", "response format", "json_schema", "json schema", "structured output", "structured_output", "guided_json"}
	lacking   = []string{
		"not support", "n't support", "unsupported", "unavailable", "not available", "only for api versions",
		"unknown", "unrecognized", "not permitted", "not allowed", "input should be", "invalid value", "must be one of", "not implemented",
	}
)

func lacksStructure(low string) bool {
	if strings.Contains(low, "no endpoints found that") && strings.Contains(low, "requested parameters") {
		return true
	}
	return anyOf(low, structure) && anyOf(low, lacking) && !strings.Contains(low, "invalid schema")
}

func anyOf(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// An apiError is what servers put under "error"; code is a number or a word.
type apiError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Param   string          `json:"param"`
	Code    json.RawMessage `json:"code"`
}

// status is the code as an HTTP status, or 502 where it is none.
func (e apiError) status() int {
	if n, err := strconv.Atoi(strings.Trim(string(e.Code), `"`)); err == nil && n >= 400 && n < 600 {
		return n
	}
	return http.StatusBadGateway
}

// complaint is what an error answer says, in one line of at most 300 runes.
func complaint(body []byte) string {
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	said := string(body)
	if json.Unmarshal(body, &envelope) == nil {
		var e apiError
		var word string
		switch {
		case json.Unmarshal(envelope.Error, &e) == nil && e.Message != "":
			said = e.Message
			if code := strings.Trim(string(e.Code), `"`); code != "" && code != "null" {
				said += " [" + code + "]"
			}
			if e.Param != "" {
				said += " [" + e.Param + "]"
			}
		case json.Unmarshal(envelope.Error, &word) == nil && word != "":
			said = word
		case envelope.Message != "":
			said = envelope.Message
		case envelope.Detail != nil:
			said = string(envelope.Detail)
		}
	}
	said = strings.ToValidUTF8(strings.Join(strings.Fields(said), " "), "")
	if said == "" {
		return "no reason given"
	}
	if r := []rune(said); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return said
}
