package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
)

const (
	// patience is how long an engine may be unreachable before Chat gives up; it
	// covers a restart.
	patience = 10 * time.Second
	// retryPause is the wait between two tries.
	retryPause = 100 * time.Millisecond
)

// refusedError is a complete answer that is no success; trying again is useless.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }

// client is one conversation of one person, seen from outside the engine.
type client struct {
	http            *http.Client
	base            string
	session, person string
}

// post sends a message.
func (c *client) post(ctx context.Context, text string) (receipt, error) {
	return c.postAs(ctx, rand.Text(), text)
}

// postAs sends a message under key, again and again while the engine cannot be
// reached: the key lets it be taken once.
func (c *client) postAs(ctx context.Context, key, text string) (receipt, error) {
	body, err := json.Marshal(postCall{Session: c.session, Person: c.person, Text: text, Key: key})
	if err != nil {
		return receipt{}, fmt.Errorf("write the message: %w", err)
	}
	var got receipt
	err = c.persist(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+PathMessages, bytes.NewReader(body))
		if err != nil {
			return &refusedError{err.Error()}
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := c.do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		return json.NewDecoder(response.Body).Decode(&got)
	})
	if err != nil {
		return receipt{}, fmt.Errorf("send the message: %w", err)
	}
	return got, nil
}

// do makes a call; an answer that is no success is an error.
func (c *client) do(request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	said := fault{Error: response.Status}
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&said) != nil || said.Error == "" {
		said.Error = response.Status
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return nil, errors.New(said.Error)
	}
	return nil, &refusedError{said.Error}
}

// persist repeats f until it succeeds, is refused, or failed for the whole of
// patience.
func (c *client) persist(ctx context.Context, f func() error) error {
	for began := time.Now(); ; {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, refused := errors.AsType[*refusedError](err); refused || time.Since(began) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// open starts the stream of events after number after, or from now on if after is
// negative; it returns the number the stream begins behind.
func (c *client) open(ctx context.Context, after int64) (io.ReadCloser, int64, error) {
	query := url.Values{"session": {c.session}, "person": {c.person}}
	if after >= 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	var stream io.ReadCloser
	err := c.persist(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+PathEvents+"?"+query.Encode(), nil)
		if err != nil {
			return &refusedError{err.Error()}
		}
		response, err := c.do(request)
		if err != nil {
			return err
		}
		stream = response.Body
		if after < 0 {
			after, err = strconv.ParseInt(response.Header.Get("X-After"), 10, 64)
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("follow the conversation: %w", err)
	}
	return stream, after, nil
}

// follow hands the events of stream and of those after it to events, connecting
// again when a stream ends, until ctx ends or the engine stays away.
func (c *client) follow(ctx context.Context, stream io.ReadCloser, after int64, events chan<- channels.SessionEvent) error {
	for {
		decoder := json.NewDecoder(stream)
		for {
			var e channels.SessionEvent
			if decoder.Decode(&e) != nil {
				break
			}
			if e.N <= after {
				continue
			}
			after = e.N
			select {
			case <-ctx.Done():
				return errors.Join(ctx.Err(), stream.Close())
			case events <- e:
			}
		}
		_ = stream.Close() // it has ended already
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
		var err error
		if stream, _, err = c.open(ctx, after); err != nil {
			return err
		}
	}
}

// baseURL is base without a slash at its end; empty means any host, for a client
// that dials a socket.
func baseURL(base string) string {
	if base == "" {
		return "http://engine"
	}
	return strings.TrimRight(base, "/")
}
