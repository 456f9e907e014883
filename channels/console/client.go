package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/internal/retry"
)

// client is one conversation of one person, seen from outside the engine.
type client struct {
	engine          *api.Client
	session, person string
	live            bool // texts that grow are wanted too
	connection      *connection
}

func newClient(engine *api.Client, o Options) *client {
	return &client{
		engine: engine, session: o.Session, person: o.Person,
		live: o.Terminal, connection: &connection{patience: patience},
	}
}

// post sends a message.
func (c *client) post(ctx context.Context, text string) (api.Receipt, error) {
	return c.postAs(ctx, rand.Text(), text)
}

// postAs sends a message under key, again and again while the engine cannot be
// reached: the key lets it be taken once.
func (c *client) postAs(ctx context.Context, key, text string) (api.Receipt, error) {
	var got api.Receipt
	err := c.persist(ctx, c.live, func() error {
		ctx, cancel := context.WithTimeout(ctx, api.PostWait)
		defer cancel()
		return c.engine.Do(ctx, api.Call{
			Method: http.MethodPost, Path: api.MessagesPath, Key: key,
			Body: api.Message{Session: c.session, User: c.person, Content: text},
		}, &got)
	})
	if err != nil {
		return api.Receipt{}, fmt.Errorf("send the message: %w", err)
	}
	return got, nil
}

// refused says that an engine will not do what it was asked; trying again is useless.
func refused(err error) bool {
	answer, ok := errors.AsType[*api.Error](err)
	return ok && answer.Status < http.StatusInternalServerError
}

// persist repeats f until it succeeds or is refused, or all patience is at an end. With
// waits an engine that is there may fail for as long as ctx lasts: a person is told, and
// may leave.
func (c *client) persist(ctx context.Context, waits bool, f func() error) error {
	var faulty time.Time // since when the engine answers that it cannot
	var err error
	for range retry.Doubling(ctx, retryPause, retryMost) {
		err = f()
		answer, complete := errors.AsType[*api.Error](err)
		switch {
		case err == nil || ctx.Err() == nil && refused(err):
			c.connection.works()
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !complete, answer.Status != http.StatusInternalServerError: // it begins or ends
			faulty = time.Time{}
			if c.connection.failed() {
				return fmt.Errorf("%w (%w)", ErrNoEngine, err)
			}
		default: // it is there and cannot do what it should
			c.connection.works()
			if faulty.IsZero() {
				faulty = time.Now()
			}
			if !waits && time.Since(faulty) > faultPatience {
				return err
			}
		}
	}
	return cmp.Or(ctx.Err(), err)
}

// open starts the stream of events after number after, or from now on if after is
// negative; it returns the number the stream begins behind.
func (c *client) open(ctx context.Context, after int64) (io.ReadCloser, int64, error) {
	query := url.Values{}
	if after >= 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	if !c.live {
		query.Set("delta", "0")
	}
	var stream io.ReadCloser
	err := c.persist(ctx, false, func() error {
		response, err := c.get(ctx, query)
		if err != nil {
			return err
		}
		begins := after
		if after < 0 {
			if begins, err = strconv.ParseInt(response.Header.Get(api.AfterHeader), 10, 64); err != nil {
				return errors.Join(err, response.Body.Close())
			}
		}
		stream, after = response.Body, begins
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("follow the conversation: %w", err)
	}
	return stream, after, nil
}

func (c *client) get(ctx context.Context, query url.Values) (*http.Response, error) {
	query.Set("user", c.person)
	return c.engine.Open(ctx, api.Call{Method: http.MethodGet, Path: api.EventsPath(c.session, query)})
}

// between delivers the events after number after up to number until, or fewer if
// more says no.
func (c *client) between(ctx context.Context, after, until int64, more func(channels.SessionEvent) bool) error {
	err := c.persist(ctx, false, func() error {
		response, err := c.get(ctx, url.Values{
			"after": {strconv.FormatInt(after, 10)}, "until": {strconv.FormatInt(until, 10)}, "delta": {"0"},
		})
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		return channels.ReadEvents(response.Body, func(e channels.SessionEvent) bool {
			after = e.N
			return more(e)
		})
	})
	if err != nil {
		return fmt.Errorf("read what was said: %w", err)
	}
	return nil
}

// follow delivers the events of stream and of those after it to events, connecting
// again when a stream ends, until ctx ends or no engine comes back. What a lost engine
// showed of a text is gone with it.
func (c *client) follow(ctx context.Context, stream io.ReadCloser, after int64, events chan<- channels.SessionEvent) error {
	for {
		_ = channels.ReadEvents(stream, func(e channels.SessionEvent) bool { // however it ends, another one follows
			if e.Kind != channels.KindDelta {
				if e.N <= after {
					return true
				}
				after = e.N
			}
			return give(ctx, events, e)
		})
		give(ctx, events, channels.SessionEvent{Kind: channels.KindDelta, Data: json.RawMessage("{}")})
		_ = stream.Close() // it has ended already
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.connection.failed()
		if !retry.Sleep(ctx, retryPause) {
			return ctx.Err()
		}
		var err error
		if stream, _, err = c.open(ctx, after); err != nil {
			return err
		}
	}
}

// ErrNoEngine is wrapped by Chat's error when for a minute no call and no stream
// succeeded.
var ErrNoEngine = errors.New(`no engine answers any more; start it with "switchboard"`)

const (
	// patience is how long no engine may be reachable before Chat gives up.
	patience = time.Minute
	// faultPatience is how long an engine may answer that it cannot do a call.
	faultPatience = 10 * time.Second
	// retryPause is the wait before the first new try; it doubles up to retryMost.
	retryPause = 100 * time.Millisecond
	retryMost  = time.Second
)

// connection knows whether an engine can be reached, for all calls of a client together.
type connection struct {
	patience time.Duration

	mu   sync.Mutex
	lost time.Time         // zero: connected
	tell func(text string) // nil: nobody is told
}

// notify sets who is told from now on.
func (c *connection) notify(tell func(text string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell = tell
}

// failed notes that a call or a stream broke, and says whether to give up.
func (c *connection) failed() (giveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost.IsZero() {
		c.lost = time.Now()
		c.say("connection to the engine lost, reconnecting…")
		return false
	}
	return time.Since(c.lost) >= c.patience
}

// works notes that an engine answered.
func (c *connection) works() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lost.IsZero() {
		c.lost = time.Time{}
		c.say("connected again")
	}
}

func (c *connection) down() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.lost.IsZero()
}

func (c *connection) say(text string) {
	if c.tell != nil {
		c.tell(text)
	}
}
