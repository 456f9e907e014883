package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
)

// unknownAtMost is how long a part of which the platform cannot say whether it arrived may block
// its conversation, while it shows otherwise that it takes messages.
const unknownAtMost = 30 * time.Second

// askAgain is the least time until the platform is asked again.
const askAgain = 2 * time.Second

// unsure says that it was begun, or left, by somebody else, or by us long ago, what d is: before
// it is decided about, or sent as the one repeat, a sign is waited for like after a failure of our own.
func (s *sender) unsure(d *Delivery) bool {
	repeats := d.State == DeliverySending
	if !s.line.mayRepeat() || d.PlatformID != "" || d.Repeated != repeats {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(d.Conversation.ID)
	if f := c.failing; f != nil && f.delivery == d.ID && f.uncertain {
		return false
	}
	c.failing = &stuckHead{delivery: d.ID, at: time.Now().Add(-probeAfter), uncertain: true, decided: repeats}
	return true
}

// tooOld says that d may have arrived by an earlier try, and that its nonce, which would show
// it once, is enforced no longer.
func (l *Connection) tooOld(d *Delivery) bool {
	deduper, ok := l.channel().(channels.Deduper)
	return ok && d.Tries > 1 && d.PlatformID == "" && time.Since(d.FirstTry) >= deduper.Window()
}

// inquire decides about a part whose send was cut off. An edit is made again, which
// changes nothing the second time. Otherwise the way is an ability of the channel: a Deduper is sent the same nonce again while its window lasts, a
// Finder is asked, and with neither the part is sent once more, marked.
func (s *sender) inquire(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	l := s.line
	if d.PlatformID != "" {
		return Settlement{State: DeliveryPending, Outcome: "edit_again"}, 0
	}
	if deduper, ok := l.channel().(channels.Deduper); ok && time.Since(d.FirstTry) < deduper.Window() {
		return Settlement{State: DeliveryPending, Outcome: "same_nonce"}, 0
	}
	if finder, ok := l.channel().(channels.Finder); ok {
		return s.find(ctx, finder, d)
	}
	if d.Repeated {
		return Settlement{State: DeliveryUnknown, Outcome: "unknown_twice", Final: true}, 0
	}
	body := l.repeated(d.Body)
	return Settlement{State: DeliveryPending, Outcome: "repeat", Repeated: true, Body: &body, Fresh: true}, 0
}

// find asks the platform for the part. Where it cannot say, the part is given up for unknown once
// the platform has shown for a while that it is not away. One that wants to be asked later is.
func (s *sender) find(ctx context.Context, finder channels.Finder, d *Delivery) (Settlement, time.Duration) {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id, found, err := finder.Find(asking, s.line.outbound(d))
	limited, later := errors.AsType[*channels.RateLimitError](err)
	switch {
	case later:
		return Settlement{State: DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, max(limited.RetryAfter, askAgain)
	case err == nil && found:
		return Settlement{State: DeliverySent, Outcome: "found", PlatformID: id}, 0
	case err == nil:
		return Settlement{State: DeliveryPending, Outcome: "absent", Fresh: true}, 0
	case s.silentFor(ctx, d) >= unknownAtMost:
		return Settlement{State: DeliveryUnknown, Outcome: "cannot_ask", Detail: err.Error(), Final: true}, 0
	}
	return Settlement{State: DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, askAgain
}

// silentFor is how long the platform has not said what became of d, as far as it was there.
func (s *sender) silentFor(ctx context.Context, d *Delivery) time.Duration {
	s.mu.Lock()
	c := s.of(d.Conversation.ID)
	if c.failing == nil || c.failing.delivery != d.ID {
		c.failing = &stuckHead{delivery: d.ID, at: time.Now().Add(-probeAfter), uncertain: true}
	}
	f := c.failing
	s.mu.Unlock()
	_, asks := s.line.channel().(channels.Prober)
	here := !asks || s.awaitSign(ctx, f.at) == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if !here {
		f.silent = time.Time{}
		return 0
	}
	f.silent = cmp.Or(f.silent, time.Now())
	return time.Since(f.silent)
}

// markUncertain notes that a call which began then, and failed so, may have begun the next
// part of conv all the same.
func (s *sender) markUncertain(conv channels.ConversationID, called time.Time, err error) {
	if errors.Is(err, core.ErrFenced) || errors.Is(err, core.ErrConflict) || errors.Is(err, core.ErrRefused) {
		return // nothing was written
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of(conv); c.uncertain.IsZero() {
		c.uncertain = called
	}
}

// certain notes that a commit began the next part of conv. Calls before it, whose answers
// were lost, had begun none, or there would have been something open.
func (s *sender) certain(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(conv).uncertain = time.Time{}
}

// neverSent says that d, the head of conv as it was found now, is uncertain only because
// the answer of the call that began it was lost: it was not sent, and nobody else holds the
// channel.
func (s *sender) neverSent(conv channels.ConversationID, d *Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(conv)
	since := c.uncertain
	c.uncertain = time.Time{}
	return d != nil && d.State == DeliveryUnknown && !since.IsZero() && !d.LastTry.Before(since.Truncate(time.Microsecond))
}
