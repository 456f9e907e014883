package platformtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Call is one request of a bot that reached the platform.
type Call struct {
	Method   string
	Values   map[string]string
	Files    []string // names of the uploaded files
	At       time.Time
	Rejected Rejection // why it was not carried out; nil when it was
}

// A Rejection is what a platform answers to a call that it does not carry out.
type Rejection interface {
	error
	// Encode returns the answer's status and body, and may set headers.
	Encode(header http.Header) (status int, body []byte)
}

// Int is a parameter as a number; 0 when it is none.
func (c Call) Int(name string) int64 {
	n, _ := strconv.ParseInt(c.Values[name], 10, 64)
	return n
}

// Calls are the calls of these methods that reached the platform, in the order they
// came; without a method, all. Cases are not told apart.
func (h *Host) Calls(methods ...string) []Call {
	h.Lock()
	defer h.Unlock()
	return slices.DeleteFunc(slices.Clone(h.calls), func(c Call) bool {
		return len(methods) > 0 && !slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, c.Method) })
	})
}

// Answer notes the call and answers it: carryOut does it, with no lock held, and returns the
// encoded answer or why there is none. A fault that the call meets changes that.
// A call that is rejected already is not carried out.
func (h *Host) Answer(w http.ResponseWriter, r *http.Request, call Call, carryOut func() ([]byte, Rejection)) {
	h.Lock()
	call.At = h.now()
	fault := h.meet(call)
	h.calls = append(h.calls, call)
	at := len(h.calls) - 1
	h.Wake()
	h.Unlock()
	if !fault.before(w, r) {
		return
	}
	var body []byte
	if call.Rejected == nil {
		if body, call.Rejected = carryOut(); call.Rejected != nil {
			h.Change(func() { h.calls[at].Rejected = call.Rejected })
		}
	}
	status, header := http.StatusOK, http.Header{}
	if call.Rejected != nil {
		status, body = call.Rejected.Encode(header)
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // an empty answer would be one
	}
	if w.Header().Get("Content-Type") == "" || call.Rejected != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	for name := range header {
		w.Header().Set(name, header.Get(name))
	}
	fault.answer(w, r, status, body)
}

// Encode is v as JSON. It panics where that cannot be: only types of the fakes come here.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
