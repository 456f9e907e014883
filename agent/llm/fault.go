package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault names what an error answer means for the caller; body is clean.
func (p *provider) fault(status int, header http.Header, body []byte, t target, req Request, m mode) error {
	said := complaint(body)
	low := strings.ToLower(said)
	switch {
	case status == http.StatusPaymentRequired, strings.Contains(low, "insufficient_quota"):
		return setup(fmt.Sprintf("the account at %q has no credit left", p.name),
			fmt.Sprintf("add credit there, or set %s to another model", t.setModel(req.Role)), fmt.Errorf("%w (%d: %s)", ErrNoCredit, status, said))
	case status == http.StatusTooManyRequests:
		return &RateLimitError{RetryAfter: retryAfter(header), Err: fmt.Errorf("%d: %s", status, said)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest && strings.Contains(low, "api key"):
		return setup(fmt.Sprintf("the key for %q was refused", p.name), p.setKey(), fmt.Errorf("%w (%d: %s)", ErrUnauthorized, status, said))
	case status == http.StatusRequestEntityTooLarge || anyOf(low, tooLong):
		return fmt.Errorf("%w (%d: %s); a model with a longer context is needed, or context_tokens is set too high", ErrContextTooLong, status, said)
	case req.Schema != nil && m.format < promptOnly && lacksStructure(low):
		return fmt.Errorf("%w in the format %s (%d: %s)", errNoStructure, m.format, status, said)
	case status == http.StatusNotFound:
		return setup(fmt.Sprintf("%q does not know the model %q", p.name, t.id),
			fmt.Sprintf("correct its name in %s, or llm.providers.%s.base_url", t.setModel(req.Role), p.name),
			fmt.Errorf("%w %q (%d: %s)", ErrUnknownModel, t.id, status, said))
	case status >= http.StatusInternalServerError && retryAfter(header) > 0:
		return &RateLimitError{RetryAfter: retryAfter(header), Err: fmt.Errorf("%w (%d: %s)", ErrAway, status, said)}
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout:
		return fmt.Errorf("%w (%d: %s)", ErrAway, status, said)
	case status < http.StatusBadRequest, status == http.StatusConflict, status == http.StatusTooEarly:
		return fmt.Errorf("%w (%d: %s)", ErrUnavailable, status, said)
	}
	return fmt.Errorf("%w (%d: %s)", ErrRefused, status, said)
}

// How servers say that a prompt does not fit.
var tooLong = []string{
	"context_length_exceeded", "maximum context length", "context length", "context window", "context size",
	"exceed_context", "prompt is too long", "input is too long", "too many tokens", "maximum prompt length", "context limit",
}

// structure is how servers name what they lack, or cannot make of the schema, when
// they refuse structured output.
var structure = []string{
	"response_format", "response format", "json_schema", "json schema", "json_object",
	"structured output", "structured_output", "guided_json", "grammar",
}

func lacksStructure(low string) bool {
	return anyOf(low, structure) ||
		strings.Contains(low, "no endpoints found that") && strings.Contains(low, "requested parameters")
}

func anyOf(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// An apiError is what servers put under "error"; code is a number or a word.
type apiError struct {
	Message string          `json:"message"`
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

// retryAfter reads how long to wait; 0 when the provider did not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return duration(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
