package api

import (
	"encoding/json"
	"net/http"
)

// KeyHeader is the header with a call's Key.
const KeyHeader = "Idempotency-Key"

// AlivePath is the call that says whether the engine does its work.
const AlivePath = "/healthz"

// codes name the statuses of errors.
var codes = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusNotFound:              "not_found",
	http.StatusRequestEntityTooLarge: "too_large",
	http.StatusInternalServerError:   "internal",
	http.StatusServiceUnavailable:    "unavailable",
}

// Reply answers a call with value.
func Reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client left: nobody to tell
}

// Refuse answers a call with an Error.
func Refuse(w http.ResponseWriter, status int, message string) {
	Reply(w, status, failure{&Error{Code: codes[status], Message: message}})
}
