package platformtest

import (
	"net/http"
	"strings"
	"time"
)

// A Fault is what goes wrong with calls. The zero Fault does nothing; fields may be
// combined where that makes sense.
type Fault struct {
	Method string          // which calls; empty: all
	When   func(Call) bool // which of them; nil: all. It must not call the server.
	Skip   int             // calls that pass before the first one is met
	Times  int             // calls that are met; 0: one; below 0: all

	Cut      bool          // the connection is dropped before the call has an effect
	Lost     bool          // the call has its effect, but the connection is dropped without an answer
	Half     bool          // the call has its effect, but the answer breaks off in the middle
	Silent   bool          // the call has no effect and no answer; the socket stays open until the caller goes
	Mute     bool          // the call has its effect, but no answer; the socket stays open until the caller goes
	Delay    time.Duration // before the call has an effect
	Slow     time.Duration // from the first byte of the answer to the last
	Status   int           // answer with this status and Body, with no effect; "text/html" when Body begins with <
	Body     string
	Rejected Rejection // answer with this rejection, with no effect
}

// BadGateway is a page such as a proxy before the platform answers with.
func BadGateway(times int) Fault {
	return Fault{Times: times, Status: http.StatusBadGateway, Body: "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"}
}

// Break makes calls fail. Faults are tried in the order they were given; a call meets
// the first that fits.
func (h *Host) Break(f Fault) { h.Change(func() { h.faults = append(h.faults, &f) }) }

// Mend takes all faults back.
func (h *Host) Mend() { h.Change(func() { h.faults, h.deaf = nil, false }) }

// meet finds the fault that a call meets; it is called under the lock.
func (h *Host) meet(c Call) *Fault {
	for i, f := range h.faults {
		if f.Method != "" && !strings.EqualFold(f.Method, c.Method) || f.When != nil && !f.When(c) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		switch f.Times {
		case 0, 1:
			h.faults = append(h.faults[:i:i], h.faults[i+1:]...)
		default:
			f.Times = max(f.Times-1, -1)
		}
		met := *f
		return &met
	}
	return nil
}

// before does what happens before the call has an effect and reports whether it has.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	if f == nil {
		return true
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	switch {
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Silent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Rejected != nil:
		w.Header().Set("Content-Type", "application/json")
		status, body := f.Rejected.Encode(w.Header())
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return false
	case f.Status != 0:
		if strings.HasPrefix(f.Body, "<") {
			w.Header().Set("Content-Type", "text/html")
		}
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return false
	}
	return true
}

// answer writes the answer, or what is left of it.
func (f *Fault) answer(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	switch {
	case f == nil:
	case f.Lost:
		panic(http.ErrAbortHandler)
	case f.Mute:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Half:
		w.WriteHeader(code)
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case f.Slow > 0:
		f.slowly(w, r, code, data)
		return
	}
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

func (f *Fault) slowly(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	const pieces = 10
	w.WriteHeader(code)
	for i := range pieces {
		_, _ = w.Write(data[i*len(data)/pieces : (i+1)*len(data)/pieces])
		_ = http.NewResponseController(w).Flush()
		if i == pieces-1 {
			return
		}
		select {
		case <-time.After(f.Slow / (pieces - 1)):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}
