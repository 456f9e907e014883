package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// wholeBody is the largest request that is made ready before it is sent, in bytes.
	wholeBody = 64 << 10
	// maxAnswer bounds what the platform may answer, in bytes.
	maxAnswer = 64 << 20
	// idleConnection is shorter than servers keep one, so that a send seldom meets one that
	// was just closed.
	idleConnection = 30 * time.Second
	connections    = 64
	// mostWait bounds what the platform may ask to wait.
	mostWait = time.Hour
)

var errTooLong = errors.New("the answer is too long")

// A reply is what every answer of the Web API has.
//
// Source: https://docs.slack.dev/apis/web-api/ "Evaluating responses".
type reply struct {
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Warning  string `json:"warning"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// An exchange is what is known of one call, whatever the library makes of it.
type exchange struct {
	left   atomic.Bool // bytes of it may have left this machine
	status int         // HTTP; 0: no complete answer
	header http.Header
	body   []byte
	reply  *reply // nil: no answer, or none of the Web API
}

func (x *exchange) ok() bool { return x.reply != nil && *x.reply.OK }

// retryAfter is how long the platform asks to wait, within reason; 0: it does not say.
func (x *exchange) retryAfter() time.Duration {
	seconds, err := strconv.ParseFloat(x.header.Get("Retry-After"), 64)
	if err != nil || seconds != seconds {
		return 0
	}
	return time.Duration(min(max(seconds, 0), mostWait.Seconds()) * float64(time.Second))
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

// Do carries one request. The answer is read whole, and what is known of the call is left
// in the exchange that the request's context holds.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	if err := makeReady(req); err != nil {
		return nil, err
	}
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.left.Store(true) }}
	resp, err := w.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		if isDial(err) {
			x.left.Store(false) // it is tried on a new connection only if nothing was written
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	if err != nil {
		return nil, err
	}
	x.status, x.header, x.body = resp.StatusCode, resp.Header, body
	var r reply
	if json.Unmarshal(body, &r) == nil && r.OK != nil {
		x.reply = &r
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// makeReady reads a short body whole, so that it can be sent again on another connection
// when the first turned out dead before a byte was written; a longer one is streamed.
func makeReady(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(req.Body, wholeBody+1))
	if err != nil {
		_ = req.Body.Close()
		return err
	}
	if len(head) > wholeBody {
		req.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), req.Body), req.Body}
		req.GetBody = nil
		return nil
	}
	_ = req.Body.Close()
	req.ContentLength = int64(len(head))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
	req.Body = io.NopCloser(bytes.NewReader(head))
	return nil
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
