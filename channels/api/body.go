package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"switchboard/internal/api"
)

// A timedBody takes the time limit off a body that has come: the server reads on to see whether the client leaves.
type timedBody struct {
	io.ReadCloser
	out *http.ResponseController
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.out.SetReadDeadline(time.Time{}) // not every connection has one
	}
	return n, err
}

// readBody is the body of a call, of at most that many bytes, which may take so long to come; large is the refusal of a longer one.
func readBody(w http.ResponseWriter, r *http.Request, most int64, wait time.Duration, large error) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait)) // not every connection has one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, large
	} else if err != nil {
		return nil, notWhole("body")
	}
	return body, nil
}

// notWhole says that the end of what was sent did not come.
func notWhole(what string) error {
	return api.Failed(http.StatusBadRequest, "send it again", "the %s did not come whole", what)
}
