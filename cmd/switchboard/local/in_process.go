package local

import (
	"bytes"
	"io"
	"net/http"
)

// InProcess returns a client that a handler of this program answers.
func InProcess(handler http.Handler) *Client {
	return &Client{HTTP: &http.Client{Transport: inProcess{handler}}}
}

// inProcess answers requests by a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &answer{header: http.Header{}, code: http.StatusOK}
	p.handler.ServeHTTP(w, req)
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Header: w.header, Body: io.NopCloser(&w.body), Request: req}, nil
}

// An answer is a response in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) WriteHeader(code int)        { w.code = code }
func (w *answer) Write(p []byte) (int, error) { return w.body.Write(p) }
