package channelstest

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
)

// A network is what lies between the bot and the platform: which calls get through.
type network struct {
	*state
	servers    []*Server
	calls      int
	down       bool
	revoked    bool
	deaf       bool
	dropped    int           // counts Drop: a call that began before one is cut
	beat       time.Duration // an open poll is answered so often, with nothing
	polls      int           // begun
	muted      int           // polls up to this one are never answered
	open, most int           // polls open now, and at most
}

// Calls counts the calls of every kind that reached the platform.
func (n *network) Calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// enter begins a call.
func (n *network) enter() (began int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return 0, channels.ErrNotConnected
	}
	n.calls++
	if n.revoked {
		return 0, channels.ErrUnauthorized
	}
	return n.dropped, nil
}

// wait holds a call for d, or until it is cut.
func (n *network) wait(ctx context.Context, d time.Duration, began int) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		n.mu.Lock()
		changed, cut := n.changed, n.dropped != began
		n.mu.Unlock()
		if cut {
			return errLost
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-changed:
		}
	}
}

// Drop cuts every call that is under way; the next ones succeed.
func (n *network) Drop() { n.change(func() { n.dropped++ }) }

// Deaf makes the platform keep connections and tell nothing.
func (n *network) Deaf(on bool) { n.change(func() { n.deaf = on }) }

// Revoke makes the platform reject the credentials, on open calls too.
func (n *network) Revoke(on bool) { n.change(func() { n.revoked = on }) }

// Down cuts every call and refuses connections until it is called with false.
func (n *network) Down(on bool) error {
	var servers []*Server
	n.change(func() {
		n.down = on
		if on {
			n.dropped++
		}
		servers = append(servers, n.servers...)
	})
	var errs []error
	for _, s := range servers {
		if on {
			s.stop()
		} else {
			errs = append(errs, s.start())
		}
	}
	return errors.Join(errs...)
}

// Beat makes the platform answer an open poll so often, with nothing to tell; 0:
// never. It begins with a second.
func (n *network) Beat(every time.Duration) { n.change(func() { n.beat = every }) }

// Mute keeps the polls that are open, and never answers them; the next ones are well.
func (n *network) Mute() { n.change(func() { n.muted = n.polls }) }

// MostPolls is how many polls were open at once, at most.
func (n *network) MostPolls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}

// pollBegins counts a poll and returns its number, the channel that its beat comes
// by, and what to call at its end.
func (n *network) pollBegins() (number int, beat <-chan time.Time, done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.polls++
	n.open++
	n.most = max(n.most, n.open)
	stop := func() bool { return false }
	if n.beat > 0 {
		timer := time.NewTimer(n.beat)
		beat, stop = timer.C, timer.Stop
	}
	return n.polls, beat, func() {
		stop()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open--
	}
}
