package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// wholeBody is the largest request that is made ready before it is sent. It then
	// has a length, and can be sent again on another connection when the first turned
	// out dead before a byte was written.
	wholeBody = 64 << 10
	// maxAnswer bounds what the platform may answer, in bytes.
	maxAnswer = 64 << 20
	// beginning is how much of a longer answer is kept, in bytes.
	beginning = 4 << 10
	// idleConnection is shorter than servers keep one, so that a send seldom meets one
	// that was just closed.
	idleConnection = 30 * time.Second
)

// errTooLong is what an answer beyond maxAnswer is.
var errTooLong = errors.New("the answer is too long")

// A reply is the platform's answer to any call.
//
// Source: https://core.telegram.org/bots/api#making-requests.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      json.RawMessage `json:"retry_after"`
		MigrateToChatID int64           `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// mostWait bounds what the platform may ask to wait.
const mostWait = time.Hour

// retryAfter is how long the platform asks to wait, within reason; 0: it does not say.
func (r *reply) retryAfter() time.Duration {
	seconds, err := strconv.ParseFloat(string(bytes.Trim(r.Parameters.RetryAfter, `"`)), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(max(seconds, 0), mostWait.Seconds()) * float64(time.Second))
}

// An exchange is what is known of one call, whatever the library makes of it.
type exchange struct {
	left  atomic.Bool // bytes of it may have left this machine
	body  []byte      // of the answer, complete; of one that is too long the beginning
	reply *reply      // nil: no answer, or not a complete one of the platform
	chat  int64       // whom it is about; 0: nobody
}

type exchangeKey struct{}

// A wire carries the library's requests. It follows no redirects and keeps addresses
// out of errors, because the token is in every address.
type wire struct {
	transport *http.Transport
	most      int64 // bytes of an answer
}

func newWire(connections int) *wire {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // one call a connection: closing it surely ends the call
	return &wire{most: maxAnswer, transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     idleConnection,
		Protocols:           protocols,
	}}
}

// Do implements the library's HttpClient. The answer is read whole, and what is known
// of the call is left in the exchange that the request's context holds.
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, w.most+1))
	if err == nil && int64(len(body)) > w.most {
		x.body, err = bytes.Clone(body[:min(len(body), beginning)]), errTooLong
	}
	if err != nil {
		return nil, err
	}
	x.body = body
	var r reply
	if json.Unmarshal(body, &r) == nil && (r.OK || r.ErrorCode != 0) {
		x.reply = &r
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// makeReady reads a short body whole; a longer one is streamed.
func makeReady(req *http.Request) error {
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
		return nil
	}
	_ = req.Body.Close()
	setBody(req, head)
	return nil
}

func setBody(req *http.Request, body []byte) {
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body = io.NopCloser(bytes.NewReader(body))
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
