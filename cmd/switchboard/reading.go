package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"switchboard/configs"
	"switchboard/store"
)

// askFiles reads something where no engine runs and none can be started, because nothing
// can be written there; why says what stood in the way.
func (a *app) askFiles(settings *configs.Settings, path string, result any, why error) error {
	db, err := store.OpenReadOnly(a.ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("%w; and to read alone: %w", why, err)
	}
	defer db.Close()
	mux := http.NewServeMux()
	readRoutes(mux, db.Router())
	c := &client{http: &http.Client{Transport: inProcess{mux}}}
	if err := c.do(a.ctx, http.MethodGet, path, result); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "switchboard: no engine is running here, and %v; this is what was stored, without what an engine elsewhere may have added since\n", why)
	return nil
}

// inProcess answers requests by a handler of this program.
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
