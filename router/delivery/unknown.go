package delivery

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	// unknownAtMost is how long a part of which nobody knows whether it arrived may
	// block its conversation.
	unknownAtMost = 30 * time.Second
	// repeatAtMost is how long its one repeat waits for a sign that the platform takes
	// messages again, and probeAfter when it begins to ask for one.
	repeatAtMost = 25 * time.Second
	probeAfter   = 8 * time.Second
	probeEvery   = 2 * time.Second
)

// inquire decides about a part whose send was cut off. An edit is made again, which
// changes nothing the second time. Otherwise the way is an ability of the channel: a Deduper is sent the same nonce again while its window lasts, a
// Finder is asked, and with neither the part is sent once more, marked.
func (l *Line) inquire(ctx context.Context, d *ledger.Delivery) (ledger.Settlement, time.Duration) {
	now := time.Now()
	if d.PlatformID != "" {
		return ledger.Settlement{State: ledger.DeliveryPending, Outcome: "edit_again"}, 0
	}
	if deduper, ok := l.channel().(channels.Deduper); ok && now.Sub(d.FirstTry) < deduper.Window() {
		return ledger.Settlement{State: ledger.DeliveryPending, Outcome: "same_nonce"}, 0
	}
	if finder, ok := l.channel().(channels.Finder); ok {
		return l.find(ctx, finder, d, now)
	}
	if d.Repeated {
		return ledger.Settlement{State: ledger.DeliveryUnknown, Outcome: "unknown_twice", Final: true}, 0
	}
	body := l.repeated(d.Body)
	return ledger.Settlement{State: ledger.DeliveryPending, Outcome: "repeat", Repeated: true, Body: &body}, 0
}

// patience is how long to wait before it is decided what to do about an uncertain head of
// conv; uncertain is false when there is none. There is one repeat: made at once it would fail of what the first try
// failed of. So it waits until another send was answered, and after a while until the
// platform says that it lives. To look a part up, or to send its nonce again, costs
// nothing and needs no sign.
func (s *sender) patience(ctx context.Context, conv channels.ConversationID) (wait time.Duration, uncertain bool) {
	s.mu.Lock()
	f, answered := s.of(conv).failing, s.answered
	s.mu.Unlock()
	if f == nil || !f.uncertain {
		return 0, false
	}
	_, finder := s.line.channel().(channels.Finder)
	_, deduper := s.line.channel().(channels.Deduper)
	since := time.Since(f.at)
	if finder || deduper || answered.After(f.at) || since >= repeatAtMost {
		return 0, true
	}
	prober, ok := s.line.channel().(channels.Prober)
	switch {
	case !ok:
		return repeatAtMost - since, true
	case since < probeAfter:
		return probeAfter - since, true
	case s.lives(ctx, prober):
		return 0, true
	}
	return min(probeEvery, repeatAtMost-since), true
}

// lives asks the platform whether it lives, once in a while for all conversations.
func (s *sender) lives(ctx context.Context, prober channels.Prober) bool {
	s.probing.Lock()
	defer s.probing.Unlock()
	if time.Since(s.probed) >= probeEvery {
		asking, cancel := context.WithTimeout(ctx, probeEvery)
		defer cancel()
		s.alive = prober.Probe(asking) == nil
		s.probed = time.Now()
	}
	return s.alive
}

func (l *Line) find(ctx context.Context, finder channels.Finder, d *ledger.Delivery, now time.Time) (ledger.Settlement, time.Duration) {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id, found, err := finder.Find(asking, l.outbound(d))
	switch {
	case err == nil && found:
		return ledger.Settlement{State: ledger.DeliverySent, Outcome: "found", PlatformID: id}, 0
	case err == nil:
		return ledger.Settlement{State: ledger.DeliveryPending, Outcome: "absent"}, 0
	case now.Sub(d.LastTry) >= unknownAtMost && now.Sub(l.lines.began) >= unknownAtMost:
		return ledger.Settlement{State: ledger.DeliveryUnknown, Outcome: "cannot_ask", Detail: err.Error(), Final: true}, 0
	}
	return ledger.Settlement{State: ledger.DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, 2 * time.Second
}

// markUncertain notes that a call which began then, and failed so, may have begun the next
// part of conv all the same.
func (s *sender) markUncertain(conv channels.ConversationID, called time.Time, err error) {
	if errors.Is(err, ledger.ErrFenced) || errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrRefused) {
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
func (s *sender) neverSent(conv channels.ConversationID, d *ledger.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(conv)
	since := c.uncertain
	c.uncertain = time.Time{}
	return d != nil && d.State == ledger.DeliveryUnknown && !since.IsZero() && !d.LastTry.Before(since.Truncate(time.Microsecond))
}
