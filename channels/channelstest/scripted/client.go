package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"switchboard/channels"
)

// Client is a Link over a socket. It may be used by several goroutines at once.
type Client struct {
	network, address string
}

var _ Link = (*Client)(nil)

// NewClient makes a client of the platform at cfg.Addr. It does no I/O.
func NewClient(cfg Config) *Client {
	network, address := cfg.network()
	return &Client{network: network, address: address}
}

// Poll implements Link.
func (c *Client) Poll(ctx context.Context, confirm []int64) ([]Update, error) {
	reply, err := c.call(ctx, PathPoll, confirm)
	return reply.Updates, err
}

// Post implements Link.
func (c *Client) Post(ctx context.Context, post Post) (channels.MessageID, error) {
	reply, err := c.call(ctx, PathPost, post)
	return reply.ID, err
}

// Change implements Link.
func (c *Client) Change(ctx context.Context, change Change) (Reply, error) {
	return c.call(ctx, PathChange, change)
}

// call makes one call on a connection of its own, so that "no connection" means
// that the request surely never left: a kept connection may have died unnoticed.
func (c *Client) call(ctx context.Context, path string, body any) (Reply, error) {
	payload, err := json.Marshal(body)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", path, err)
	}
	var connected atomic.Bool
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dialer := net.Dialer{Timeout: 5 * time.Second}
			conn, err := dialer.DialContext(ctx, c.network, c.address)
			connected.Store(err == nil)
			return conn, err
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://scripted"+path, bytes.NewReader(payload))
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", path, err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		if !connected.Load() {
			return Reply{}, fmt.Errorf("%s: %w: %w", path, channels.ErrNotConnected, err)
		}
		return Reply{}, fmt.Errorf("%s: no answer: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	var reply Reply
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return Reply{}, fmt.Errorf("%s: no complete answer: %w", path, err)
	}
	return reply, reply.Error.err(path)
}

// codes are the errors that are known on the wire by their code alone.
var codes = map[string]error{
	"unauthorized": channels.ErrUnauthorized, "gone": channels.ErrGone,
	"no_message": channels.ErrNoMessage, "moved": channels.ErrMoved,
}

// err is e as the error the program knows; nil for nil.
func (e *Error) err(op string) error {
	if e == nil {
		return nil
	}
	if known := codes[e.Code]; known != nil {
		return fmt.Errorf("%s: %w", op, known)
	}
	if e.Code == "rate_limited" {
		return &channels.RateLimitError{
			Op: op, RetryAfter: time.Duration(e.RetryAfter) * time.Millisecond,
			Channel: e.Channel, Err: errors.New(e.Reason),
		}
	}
	return &channels.RefusedError{Op: op, Reason: e.Reason, Temporary: e.Temporary}
}

// Encode is err as a refusal on the wire, or nil when it is not one.
func Encode(err error) *Error {
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
		return &Error{
			Code: "rate_limited", Reason: fmt.Sprint(limited.Err),
			RetryAfter: limited.RetryAfter.Milliseconds(), Channel: limited.Channel,
		}
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok {
		return &Error{Code: "refused", Reason: refused.Reason, Temporary: refused.Temporary}
	}
	for code, known := range codes {
		if errors.Is(err, known) {
			return &Error{Code: code}
		}
	}
	return nil
}
