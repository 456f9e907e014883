package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"switchboard/internal/secrets"
)

// maxError bounds the body of an error, in bytes.
const maxError = 64 << 10

// A Client calls an engine.
type Client struct {
	http  *http.Client
	base  string         // of every call
	token secrets.Secret // empty: none is needed
}

// ours is the address of an engine that is reached some other way than by its address.
const ours = "http://engine"

// NewClient calls over the connections that dial makes.
func NewClient(dial func(context.Context) (net.Conn, error)) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}}, base: ours}
}

// Remote calls the engine at an address, http://… or https://…, with a token. It follows no redirects. The error says what is
// wrong with the address; http beyond this machine, where others read the token on its way, is taken with insecure alone.
func Remote(address string, token secrets.Secret, insecure bool) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%.200q is no address such as https://bot.example.org", address)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && !insecure && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, errors.New("http:// to another machine would show the token to everybody on the way: use https://, or --insecure if the network is your own")
	}
	return &Client{http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, base: strings.TrimRight(address, "/"), token: token}, nil
}

// InProcess returns a client that a handler of this program answers, each time at once.
func InProcess(handler http.Handler) *Client {
	return &Client{http: &http.Client{Transport: inProcess{handler}}, base: ours}
}

// A Call is what a client asks.
type Call struct {
	Method, Path string
	Body         any    // sent as JSON; nil: none
	Key          string // makes a repeated call harmless; empty: it has none
}

// Do calls the engine and decodes its answer into result, unless that is nil. The error
// is an *Error where the engine refused.
func (c *Client) Do(ctx context.Context, call Call, result any) error {
	answer, err := c.Open(ctx, call)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(result); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	return nil
}

// Open calls the engine for an answer that the caller reads, and closes. The error is
// an *Error where the engine refused.
func (c *Client) Open(ctx context.Context, call Call) (*http.Response, error) {
	var body io.Reader
	if call.Body != nil {
		raw, err := json.Marshal(call.Body)
		if err != nil {
			return nil, fmt.Errorf("write the call: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, c.base+call.Path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the engine: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.Key != "" {
		req.Header.Set(KeyHeader, call.Key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	answer, err := c.http.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it names a method and an address that mean nothing to people
	}
	if err != nil {
		return nil, fmt.Errorf("ask the engine: %w", err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	var f Failure
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxError)).Decode(&f); err != nil || f.Err == nil || f.Err.Message == "" {
		f.Err = &Error{Message: answer.Status}
	}
	f.Err.Status = answer.StatusCode
	return nil, f.Err
}

// Close closes the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// inProcess answers requests by a handler.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &answer{header: http.Header{}, code: http.StatusOK}
	p.handler.ServeHTTP(w, req)
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Header: w.header, Body: io.NopCloser(&w.Buffer), Request: req}, nil
}

// An answer is a response in memory.
type answer struct {
	bytes.Buffer
	header http.Header
	code   int
}

func (w *answer) Header() http.Header  { return w.header }
func (w *answer) WriteHeader(code int) { w.code = code }
