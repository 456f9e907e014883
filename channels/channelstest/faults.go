package channelstest

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// A Fault is what becomes of one send; the zero value lets it succeed. The delay
// comes first, then at most one of the others.
type Fault struct {
	Delay       time.Duration
	RateLimited bool          // refused for now
	RetryAfter  time.Duration // with RateLimited
	Channel     bool          // with RateLimited: the whole channel
	Refused     string        // a complete error reply with these words
	Temporary   bool          // with Refused
	Gone        bool
	Moved       bool // the conversation has a new ID
	NoMessage   bool // of a change: the message is not there any more
	LoseRequest bool // the connection ends before the send took effect
	LoseAnswer  bool // the connection ends after the send took effect
}

const opPost = "post"

func (f Fault) refusal() error {
	switch {
	case f.RateLimited:
		return &channels.RateLimitError{
			Op: opPost, RetryAfter: f.RetryAfter, Channel: f.Channel, Err: errors.New("slow down"),
		}
	case f.Refused != "":
		return &channels.RefusedError{Op: opPost, Reason: f.Refused, Temporary: f.Temporary}
	case f.Gone:
		return channels.ErrGone
	case f.Moved:
		return channels.ErrMoved
	case f.NoMessage:
		return channels.ErrNoMessage
	case f.LoseRequest:
		return errLost
	}
	return nil
}

// Next plans the faults of the next sends, one each, before OnSend is asked.
func (p *Platform) Next(faults ...Fault) {
	p.change(func() { p.script = append(p.script, faults...) })
}

// OnSend asks f about every send that Next has no fault for; nil stops that. f is
// called without locks held and possibly by several goroutines at once.
func (p *Platform) OnSend(f func(scripted.Post) Fault) { p.change(func() { p.onSend = f }) }

func (p *Platform) fault(post scripted.Post) Fault {
	var ask func(scripted.Post) Fault
	var fault Fault
	p.change(func() {
		p.tries = append(p.tries, post)
		if len(p.script) > 0 {
			fault, p.script = p.script[0], p.script[1:]
			return
		}
		ask = p.onSend
	})
	if ask != nil {
		return ask(post)
	}
	return fault
}

// wait holds a call for d, or until it is cut.
func (p *Platform) wait(ctx context.Context, d time.Duration, began int) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		p.mu.Lock()
		changed, cut := p.changed, p.dropped != began
		p.mu.Unlock()
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
func (p *Platform) Drop() { p.change(func() { p.dropped++ }) }

// Deaf makes the platform keep connections and tell nothing.
func (p *Platform) Deaf(on bool) { p.change(func() { p.deaf = on }) }

// Revoke makes the platform reject the credentials, on open calls too.
func (p *Platform) Revoke(on bool) { p.change(func() { p.revoked = on }) }

// Repeat makes every later event come n times under the same message ID.
func (p *Platform) Repeat(n int) { p.change(func() { p.repeat = max(n, 1) }) }

// Reorder makes the platform tell the newest event first.
func (p *Platform) Reorder(on bool) { p.change(func() { p.reorder = on }) }

// Dedupe makes the platform show a nonce once within window; 0 stops that.
func (p *Platform) Dedupe(window time.Duration) { p.change(func() { p.window = window }) }

// Down cuts every call and refuses connections until it is called with false.
func (p *Platform) Down(on bool) error {
	var servers []*Server
	p.change(func() {
		p.down = on
		if on {
			p.dropped++
		}
		servers = append(servers, p.servers...)
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
