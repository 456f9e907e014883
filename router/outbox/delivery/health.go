package delivery

import (
	"fmt"
	"sync"
	"time"

	"switchboard/channels"
)

// health is what is known of a channel's connection.
type health struct {
	mu     sync.Mutex
	latest condition
}

// A condition is a connection's at one time.
type condition struct {
	state     channels.State
	since     time.Time
	reason    string
	lastFrame time.Time
	lastEvent time.Time
	down      time.Time     // since when it is not connected; zero: it is
	acts      string        // what somebody must act on, as notices say it; empty: it may pass
	first     time.Time     // when the present connection first spoke; zero: it did not
	over      bool          // the present connection is being ended: what it still says is no sign of life
	next      time.Time     // when a new connection is made; zero: one is there, or none is to be
	up        chan struct{} // closed at the first frame of all
}

func newHealth() *health {
	return &health{latest: condition{state: channels.StateWaiting, since: time.Now(), down: time.Now(), up: make(chan struct{})}}
}

// now is the condition as it is.
func (h *health) now() condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// note changes the condition.
func (h *health) note(change func(*condition)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.latest)
}

func (c condition) status() channels.Status {
	reason := c.reason
	if wait := time.Until(c.next); wait > 0 {
		reason += fmt.Sprintf("; next try in %s", max(wait.Round(time.Second), time.Second))
	}
	return channels.Status{State: c.state, Since: c.since, Reason: reason, LastFrame: c.lastFrame, LastEvent: c.lastEvent}
}

// set changes the state, and says whether that is news.
func (h *health) set(state channels.State, reason string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.latest
	if news = c.state != state; news {
		c.state, c.since = state, time.Now()
		if c.down.IsZero() {
			c.down = c.since
		}
	}
	news = news || c.reason != reason
	c.reason = reason
	return news
}

// received notes that the platform spoke, on a connection that is good, and says whether the
// channel was not connected before.
func (h *health) received(event, good bool) (up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, now := &h.latest, time.Now()
	c.lastFrame = now
	if event {
		c.lastEvent = now
	}
	if !good {
		return false
	}
	if c.first.IsZero() && !c.over {
		c.first = now
		if c.state != channels.StateConnected {
			c.state, c.since, c.reason, up = channels.StateConnected, now, "", true
			c.down, c.acts = time.Time{}, ""
		}
	}
	select {
	case <-c.up:
	default:
		close(c.up)
	}
	return up
}

// trouble is a row of connections on which the platform never spoke.
type trouble struct {
	fault error // how the latest connection ended
	times int
	since time.Time
}

// note adds how a connection ended; spoke says that the platform had spoken on it.
func (t *trouble) note(fault error, spoke bool) {
	if t.fault = fault; spoke {
		t.times = 0
		return
	}
	if t.times == 0 {
		t.since = time.Now()
	}
	t.times++
}

// String says what the trouble is and how long it lasts; empty: there is none.
func (t *trouble) String() string {
	switch {
	case t.fault == nil:
		return ""
	case t.times > 1 && !needsCredentials(t.fault):
		return fmt.Sprintf("%v (%d times since %s)", t.fault, t.times, t.since.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return t.fault.Error()
}
