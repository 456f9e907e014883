package discord

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds what the platform may answer, in bytes.
	maxAnswer = 64 << 20
	// connections are how many calls go out at once before they wait to dial.
	connections = 64
	// idleConnection is shorter than servers keep one, so that a send seldom meets one that was
	// just closed.
	idleConnection = 30 * time.Second
)

// errTooLong is what an answer beyond maxAnswer is.
var errTooLong = errors.New("the answer is too long")

// An exchange is what is known of one call, whatever the library makes of it.
type exchange struct {
	left   atomic.Bool // bytes of it may have left this machine
	status int         // 0: no complete answer
	header http.Header
	body   []byte
	err    error // why there is none
}

type exchangeKey struct{}

// A wire carries the library's requests. It follows no redirects.
type wire struct{ transport *http.Transport }

func newWire() *wire {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // one call a connection: closing it surely ends the call
	return &wire{&http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     idleConnection,
		Protocols:           protocols,
	}}
}

// RoundTrip implements http.RoundTripper. The answer is read whole, and what is known of the
// call is left in the exchange that the request's context holds.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.left.Store(true) }}
	resp, err := w.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		if isDial(err) {
			x.left.Store(false) // it is tried on a new connection only if nothing was written
		}
		x.err = err
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	if err != nil {
		x.err = err
		return nil, err
	}
	x.status, x.header, x.body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// isDial says that no connection was made at all.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	_, ok = errors.AsType[*net.DNSError](err)
	return ok
}
