package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// codes name the statuses of errors, as every client may rely on.
var codes = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusConflict:              "conflict",
	http.StatusRequestEntityTooLarge: "too_large",
	http.StatusUnprocessableEntity:   "invalid_config",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusInternalServerError:   "internal",
	http.StatusNotImplemented:        "not_available",
	http.StatusBadGateway:            "model_error",
	http.StatusServiceUnavailable:    "unavailable",
}

// An Error is a complete answer that is no success.
type Error struct {
	Status  int    `json:"-"` // of HTTP
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
	// RetryAfter is when to try again; zero: nobody knows.
	RetryAfter time.Duration `json:"-"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// A Failure is the body that carries an Error.
type Failure struct {
	Err *Error `json:"error"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Message }

// Unwrap gives the Error.
func (f *Failure) Unwrap() error { return f.Err }

// GetStatus is the status of HTTP.
func (f *Failure) GetStatus() int { return f.Err.Status }

// GetHeaders are those of the answer.
func (f *Failure) GetHeaders() http.Header {
	h := http.Header{}
	if after := f.Err.RetryAfter; after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	return h
}

// Failed is a failure of that status; hint says what to do, and may be empty.
func Failed(status int, hint, format string, args ...any) *Failure {
	other := "internal"
	if status < http.StatusInternalServerError {
		other = "bad_request"
	}
	return &Failure{&Error{Status: status, Code: cmp.Or(codes[status], other), Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// Reply answers a call with value.
func Reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client left: nobody to tell
}

// Refuse answers a call with a failure. An error that is none is one of the program's.
func Refuse(w http.ResponseWriter, err error) {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = Failed(http.StatusInternalServerError, "", "%v", err)
	}
	for name, values := range f.GetHeaders() {
		w.Header()[name] = values
	}
	Reply(w, f.Err.Status, f)
}
