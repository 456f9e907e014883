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

// link knows whether an engine can be reached, for all calls of a client together.
type link struct {
	patience time.Duration

	mu   sync.Mutex
	lost time.Time         // zero: connected
	tell func(text string) // nil: nobody is told
}

// notify sets who is told from now on.
func (l *link) notify(tell func(text string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = tell
}

// failed notes that a call or a stream broke, and says whether to give up.
func (l *link) failed() (giveUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.IsZero() {
		l.lost = time.Now()
		l.say("connection to the engine lost, reconnecting…")
		return false
	}
	return time.Since(l.lost) >= l.patience
}

// works notes that an engine answered.
func (l *link) works() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost.IsZero() {
		l.lost = time.Time{}
		l.say("connected again")
	}
}

func (l *link) down() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lost.IsZero()
}

func (l *link) say(text string) {
	if l.tell != nil {
		l.tell(text)
	}
}
