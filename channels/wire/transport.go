package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// WholeBody is the largest request, in bytes, that is made ready before it is sent. It
	// then has a length, and can be sent again on another connection when the first turned
	// out dead before a byte was written.
	WholeBody = 64 << 10
	// MaxAnswer bounds what a platform may answer, in bytes, unless Transport.Most says
	// otherwise.
	MaxAnswer = 64 << 20
	// beginning is how much of a longer answer is kept, in bytes.
	beginning = 4 << 10
	// dialTimeout bounds the making of a connection, and its encryption again.
	dialTimeout = 10 * time.Second
	// idleConnection is shorter than servers keep one, so that a send seldom meets one
	// that was just closed.
	idleConnection = 30 * time.Second
	// mostWait bounds what a platform may ask to wait.
	mostWait = time.Hour
)

// ErrTooLong is returned by Do for an answer of more than Most bytes.
var ErrTooLong = errors.New("the answer is too long")

// An Exchange is what is known of one call, whatever a library makes of it. The zero
// Exchange is of a call that was not made; it is not used by two goroutines at once.
type Exchange struct {
	Status  int // HTTP; 0: no complete answer came
	Header  http.Header
	Body    []byte // of the answer, complete; of one that is too long the beginning
	Err     error  // of the connection; nil: there was none
	Library error  // what a library made of it, for where the request was not made at all
	left    atomic.Bool
}

type exchangeKey struct{}

// In is ctx for the one request that x is to know of.
func (x *Exchange) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// RetryAfter is how long the answer's header asks to wait, at most an hour; 0: it does not
// say.
func (x *Exchange) RetryAfter() time.Duration {
	d, _ := Seconds(x.Header.Get("Retry-After"))
	return d
}

// Seconds reads a number of seconds, whole or not, as 0 to an hour; ok is false for what is
// no number.
func Seconds(text string) (d time.Duration, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) {
		return 0, false
	}
	return time.Duration(min(max(n, 0), mostWait.Seconds()) * float64(time.Second)), true
}

// A Transport carries requests. It follows no redirects and keeps addresses, which may hold
// a credential, out of its errors. It may be used by several goroutines at once.
type Transport struct {
	Most int64 // bytes of an answer; set before the first request
	http *http.Transport
}

// New makes a transport that keeps so many connections open while they are idle.
func New(connections int) *Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // one call a connection: closing it surely ends the call
	return &Transport{Most: MaxAnswer, http: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     idleConnection,
		Protocols:           protocols,
	}}
}

// Close closes the connections that are idle. The transport can be used further.
func (t *Transport) Close() { t.http.CloseIdleConnections() }

// Through makes connections by dial; it is for tests, before the first request.
func (t *Transport) Through(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.http.DialContext = dial
}

// Post posts a body of so many bytes, of which x is to know.
func (t *Transport) Post(ctx context.Context, x *Exchange, address, contentType string, body io.Reader, size int64) error {
	req, err := http.NewRequestWithContext(x.In(ctx), http.MethodPost, address, body)
	if x.Library = err; err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", contentType)
	resp, err := t.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// RoundTrip is Do, for http.Client.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) { return t.Do(req) }

// Do makes a request and reads the answer whole. What is known of it is left in the
// Exchange that the request's context holds, if any.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*Exchange)
	if x == nil {
		x = &Exchange{}
	}
	resp, err := t.do(req, x)
	x.Err = err
	return resp, err
}

func (t *Transport) do(req *http.Request, x *Exchange) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.left.Store(true) }}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	if err := makeReady(req); err != nil {
		return nil, err
	}
	resp, err := t.http.RoundTrip(req)
	if err != nil {
		if isDial(err) {
			x.left.Store(false) // it is tried on a new connection only if nothing was written
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, t.Most+1))
	if err == nil && int64(len(body)) > t.Most {
		x.Body, err = bytes.Clone(body[:min(len(body), beginning)]), ErrTooLong
	}
	if err != nil {
		return nil, err
	}
	x.Status, x.Header, x.Body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// makeReady reads a short body whole; a longer one is streamed.
func makeReady(req *http.Request) error {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(req.Body, WholeBody+1))
	if err != nil {
		_ = req.Body.Close()
		return err
	}
	if len(head) > WholeBody {
		req.GetBody, req.Body = nil, struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), req.Body), req.Body}
		return nil
	}
	_ = req.Body.Close()
	req.ContentLength = int64(len(head))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
	req.Body = io.NopCloser(bytes.NewReader(head))
	return nil
}

// A Socket is a WebSocket that several goroutines may write to.
type Socket struct {
	*websocket.Conn
	writing sync.Mutex
}

// Dial opens a WebSocket at address, and is ready within the time given; a frame may have most
// bytes. Its error is said plainly.
func (t *Transport) Dial(ctx context.Context, address string, within time.Duration, most int64) (*Socket, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: within, NetDialContext: t.http.DialContext}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, errors.New(Plainly(err))
	}
	conn.SetReadLimit(most)
	return &Socket{Conn: conn}, nil
}

// Say writes v as JSON within the time given. Its error is said plainly.
func (s *Socket) Say(v any, within time.Duration) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.SetWriteDeadline(time.Now().Add(within))
	if err := s.WriteJSON(v); err != nil {
		return errors.New(Plainly(err))
	}
	return nil
}

// End says that the connection is closed, with a code, and closes it. What is written at the
// same time fails.
func (s *Socket) End(code int) {
	_ = s.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(100*time.Millisecond))
	_ = s.Close()
}
