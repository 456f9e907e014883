package console

import (
	"errors"
	"sync"
	"time"
)

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
