package outbox

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"switchboard/channels"
)

// health is what is known of a channel's connection.
type health struct {
	mu        sync.Mutex
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
	return &health{state: channels.StateWaiting, since: time.Now(), down: time.Now(), up: make(chan struct{})}
}

func (h *health) status() channels.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason := h.reason
	if wait := time.Until(h.next); wait > 0 {
		reason += fmt.Sprintf("; next try in %s", max(wait.Round(time.Second), time.Second))
	}
	return channels.Status{State: h.state, Since: h.since, Reason: reason, LastFrame: h.lastFrame, LastEvent: h.lastEvent}
}

// reset forgets the connections of a former adapter.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.since, h.reason, h.up = channels.StateWaiting, time.Now(), "", make(chan struct{})
}

// set changes the state, and says whether that is news.
func (h *health) set(state channels.State, reason string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if news = h.state != state; news {
		h.state, h.since = state, time.Now()
		if h.down.IsZero() {
			h.down = h.since
		}
	}
	news = news || h.reason != reason
	h.reason = reason
	return news
}

// began notes that a new connection is made.
func (h *health) began() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first, h.over, h.next = time.Time{}, false, time.Time{}
}

// rests notes that the next connection is made after so long.
func (h *health) rests(wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = time.Now().Add(wait)
}

// ends notes that the present connection is being ended.
func (h *health) ends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// received notes that the platform spoke, on a connection that is good, and says whether the
// channel was not connected before.
func (h *health) received(event, good bool) (up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.lastFrame = now
	if event {
		h.lastEvent = now
	}
	if !good {
		return false
	}
	if h.first.IsZero() && !h.over {
		h.first = now
		if h.state != channels.StateConnected {
			h.state, h.since, h.reason, up = channels.StateConnected, now, "", true
			h.down, h.acts = time.Time{}, ""
		}
	}
	select {
	case <-h.up:
	default:
		close(h.up)
	}
	return up
}

// responded says whether the platform spoke on the present connection.
func (h *health) responded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.first.IsZero()
}

// ended notes whether somebody must act on how the connection ended.
func (h *health) ended(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.acts = ""; {
	case errors.Is(err, channels.ErrUnauthorized):
		h.acts = "is not connected, its credentials are rejected"
	case errors.Is(err, channels.ErrStopped):
		h.acts = "is not connected, and is not tried again"
	}
}

// downSince is since when the channel is not connected, what somebody must act on, and why;
// zero: it is.
func (h *health) downSince() (since time.Time, acts, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down, h.acts, h.reason
}

// alive is how long the present connection has spoken.
func (h *health) alive() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first.IsZero() {
		return 0
	}
	return h.lastFrame.Sub(h.first)
}

// listenedSince says that the channel has been connected since before then.
func (h *health) listenedSince(then time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == channels.StateConnected && h.since.Before(then)
}

// silentSince is when the platform last spoke on a connection made then.
func (h *health) silentSince(made time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lastFrame.After(made) {
		return h.lastFrame
	}
	return made
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
