package slacktest

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"switchboard/channels/platformtest"
)

// docs is where the platform documents its methods.
const docs = "https://docs.slack.dev/reference/methods/"

// A Rejection is what the platform answers to a call that it does not carry out.
type Rejection struct {
	Code       string        // the platform's error
	Status     int           // HTTP; 0: 200
	RetryAfter time.Duration // with ratelimited
	Messages   []string      // response_metadata.messages
	Needed     string        // scopes, with missing_scope
	Page       string        // where the documentation says so
	Detail     string        // what exactly was wrong; not sent
}

func (r *Rejection) Error() string {
	text := r.Code
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return fmt.Sprintf("%s %v (%s)", text, r.Messages, r.Page)
}

// Encode implements platformtest.Rejection.
func (r *Rejection) Encode(header http.Header) (status int, body []byte) {
	answer := map[string]any{"ok": false, "error": r.Code}
	if len(r.Messages) > 0 {
		answer["response_metadata"] = map[string]any{"messages": r.Messages}
	}
	if r.Needed != "" {
		answer["needed"], answer["provided"] = r.Needed, ""
	}
	status = r.Status
	if status == 0 {
		status = http.StatusOK
	}
	if r.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(r.RetryAfter.Seconds()))))
	}
	return status, platformtest.Encode(answer)
}

// refuse is a rejection of a method.
func refuse(method, code string, detail ...any) *Rejection {
	return &Rejection{Code: code, Page: docs + method, Detail: fmt.Sprint(detail...)}
}

// TooMany refuses a call for now: one place is written to too often.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits.
func TooMany(after time.Duration) *Rejection {
	return &Rejection{
		Code: "ratelimited", Status: http.StatusTooManyRequests, RetryAfter: after,
		Page: "https://docs.slack.dev/apis/web-api/rate-limits",
	}
}

// TooManyAll refuses a call for now: the app writes too much anywhere.
//
// Source: https://docs.slack.dev/reference/methods/chat.postMessage "rate_limited".
func TooManyAll(after time.Duration) *Rejection {
	r := TooMany(after)
	r.Code, r.Page = "rate_limited", docs+"chat.postMessage"
	return r
}
