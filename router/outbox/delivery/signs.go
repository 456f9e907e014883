package delivery

import (
	"cmp"
	"context"
	"sync"
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	// probeAfter is how long a sign that the platform takes messages is waited for, before it
	// is asked for one; asked, it has to answer twice, probeEvery apart.
	probeAfter = 6 * time.Second
	probeEvery = 2 * time.Second
	// signFor is how long a sign is one: the platform may be away again.
	signFor = 10 * time.Second
	// askNobody is what is waited instead where the platform cannot be asked.
	askNobody = 25 * time.Second
)

// signs are what sends and probes showed, under one lease, of whether the platform takes messages, and
// which conversations' heads it did not take.
type signs struct {
	*adapter
	limits *limits

	mu       sync.Mutex
	heads    map[channels.ConversationID]*stuckHead // whose latest send failed
	answered time.Time                              // when the latest send began that the platform answered
	// failed is the delivery that the platform could not take last, since it answered one.
	failed int64

	probing sync.Mutex // held while the platform is asked whether it lives
	// tried is when the platform was asked last. former and latest are the last two times that it
	// answered, with no failure since; zero: it did not.
	tried, former, latest time.Time
}

func newSigns(a *adapter, limits *limits) *signs {
	return &signs{adapter: a, limits: limits, heads: map[channels.ConversationID]*stuckHead{}}
}

// signed says that the platform showed, after then and after the latest failure of the whole
// channel, that it takes messages: it answered a send, or was asked and answered twice. What it
// showed long ago says nothing.
func (s *signs) signed(after time.Time) bool {
	if failed := s.limits.failedLast(); failed.After(after) {
		after = failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := time.Now().Add(-signFor)
	return s.answered.After(after) && s.answered.After(fresh) || s.former.After(after) && s.latest.After(fresh)
}

// await asks for a sign since then, where none came by itself, and says how long to wait before it
// is asked for the next time; 0: it is there. An outage may last as long as it likes.
func (s *signs) await(ctx context.Context, since time.Time) (wait time.Duration) {
	if s.signed(since) {
		return 0
	}
	prober, ok := s.channel().(channels.Prober)
	if !ok {
		return max(askNobody-time.Since(since), 0)
	}
	if wait := probeAfter - time.Since(since); wait > 0 {
		return wait
	}
	s.probe(ctx, prober)
	if s.signed(since) {
		return 0
	}
	return probeEvery
}

// probe asks the platform whether it lives, once in a while for all conversations.
func (s *signs) probe(ctx context.Context, prober channels.Prober) {
	if !s.probing.TryLock() {
		return
	}
	defer s.probing.Unlock()
	if began := time.Now(); began.Sub(s.tried) >= probeEvery {
		asking, cancel := context.WithTimeout(ctx, probeTimeout)
		err := prober.Probe(asking)
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tried = began
		if s.former, s.latest = s.latest, began; err != nil {
			s.former, s.latest = time.Time{}, time.Time{}
		}
	}
}

// ownAfter is how many failures of one head, with others answered in between, make all
// that follow its own.
const ownAfter = 3

// A stuckHead is the head of a conversation whose latest send failed.
type stuckHead struct {
	delivery int64
	at       time.Time // its latest failure
	times    int
	alone    int  // failures before which others were answered
	unknown  bool // nobody knows whether it arrived
	// decided, with unknown: it is sent once more, as soon as the platform takes messages.
	decided bool
	silent  time.Time // since when the platform does not say whether it arrived, though it is there; zero: it may be away
}

// head is what is known of d as one that failed; one that is not known is taken as fresh.
// Called under the lock.
func (s *signs) head(d *outbox.Delivery, fresh stuckHead) *stuckHead {
	h := s.heads[d.Conversation.ID]
	if h == nil || h.delivery != d.ID {
		fresh.delivery = d.ID
		h = &fresh
		s.heads[d.Conversation.ID] = h
	}
	return h
}

// forget drops what is known of a conversation.
func (s *signs) forget(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heads, conv)
}

// took notes that the platform answered a send of d which began then.
func (s *signs) took(d *outbox.Delivery, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heads, d.Conversation.ID)
	s.failed = 0
	if began.After(s.answered) {
		s.answered = began
	}
}

// A cause is why the platform could not take a part.
type cause int

const (
	causeChannel cause = iota // the whole channel: another part failed as well, and none was answered since
	causeLikely               // likely the part: nothing else fails
	causePart                 // the part: others were answered since it failed before
)

// causeOf notes that the platform could not take d and says why, and how
// long d alone should wait.
func (s *signs) causeOf(d *outbox.Delivery, now time.Time) (why cause, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.head(d, stuckHead{at: now})
	others := s.answered.After(h.at)
	if others {
		h.alone++
	}
	h.at = now
	pause = retry.Pause(h.times, retryMin, retryMax)
	h.times++
	only := s.failed == 0 || s.failed == d.ID
	s.failed = d.ID
	switch {
	case others || h.alone >= ownAfter:
		return causePart, pause
	case h.alone > 0, only:
		return causeLikely, pause
	}
	return causeChannel, pause
}

// noteUnknown notes that nobody knows whether d arrived.
func (s *signs) noteUnknown(d *outbox.Delivery, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[d.Conversation.ID] = &stuckHead{delivery: d.ID, at: now, unknown: true}
}

// decide notes that it is decided what to do about the unknown head of conv: it is repeated,
// or something that needs no sign.
func (s *signs) decide(conv channels.ConversationID, repeats bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heads[conv]; repeats && h != nil {
		h.decided = true
	} else {
		delete(s.heads, conv)
	}
}

// leftUnknown notes that an earlier holder of the channel, or this one long ago, left d unknown or began
// its one repeat: a sign is waited for before it is decided about or sent, as after a failure here. It
// says false where that is known, or where no sign is needed.
func (s *signs) leftUnknown(d *outbox.Delivery) bool {
	repeats := d.State == outbox.DeliverySending
	if !s.mayRepeat() || d.PlatformID != "" || d.Repeated != repeats {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heads[d.Conversation.ID]; h != nil && h.delivery == d.ID && h.unknown {
		return false
	}
	s.heads[d.Conversation.ID] = &stuckHead{delivery: d.ID, at: time.Now().Add(-probeAfter), unknown: true, decided: repeats}
	return true
}

// untilDecided is how long to wait before the next thing is done about the head of conv, whose
// latest send nobody knows the end of; decides is that it is to be decided what that is, which
// needs no right to send. There is one repeat: made at once it would fail of what the first try
// failed of. To look a part up, or to send its nonce again, costs nothing and needs no sign.
func (s *signs) untilDecided(ctx context.Context, conv channels.ConversationID) (wait time.Duration, decides bool) {
	s.mu.Lock()
	h := s.heads[conv]
	unknown := h != nil && h.unknown
	var at time.Time
	if unknown {
		at, decides = h.at, !h.decided
	}
	s.mu.Unlock()
	if !unknown || !s.mayRepeat() {
		return 0, decides
	}
	return s.await(ctx, at), decides
}

// silentFor is how long the platform has not said what became of d, as far as it was there.
func (s *signs) silentFor(ctx context.Context, d *outbox.Delivery) time.Duration {
	s.mu.Lock()
	h := s.head(d, stuckHead{at: time.Now().Add(-probeAfter), unknown: true})
	s.mu.Unlock()
	_, asks := s.channel().(channels.Prober)
	here := !asks || s.await(ctx, h.at) == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if !here {
		h.silent = time.Time{}
		return 0
	}
	h.silent = cmp.Or(h.silent, time.Now())
	return time.Since(h.silent)
}
