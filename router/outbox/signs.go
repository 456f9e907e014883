package outbox

import (
	"context"
	"time"

	"switchboard/channels"
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

// probes are the latest two times that the platform was asked whether it lives and answered,
// with no failure since; zero: it was not.
type probes struct {
	tried        time.Time // when it was asked last
	former, last time.Time
}

// signed says that the platform showed, after then and after the latest failure of the whole
// channel, that it takes messages: it answered a send, or was asked and answered twice. What it
// showed long ago says nothing.
func (s *sender) signed(after time.Time) bool {
	if ill := s.line.limits.illSince(); ill.After(after) {
		after = ill
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := time.Now().Add(-signFor)
	return s.answered.After(after) && s.answered.After(fresh) || s.probes.former.After(after) && s.probes.last.After(fresh)
}

// awaitSign asks for a sign since then, where none came by itself, and says how long to wait before it
// is asked for the next time; 0: it is there. An outage may last as long as it likes.
func (s *sender) awaitSign(ctx context.Context, since time.Time) (wait time.Duration) {
	if s.signed(since) {
		return 0
	}
	prober, ok := s.line.channel().(channels.Prober)
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
func (s *sender) probe(ctx context.Context, prober channels.Prober) {
	if !s.probing.TryLock() {
		return
	}
	defer s.probing.Unlock()
	if began := time.Now(); began.Sub(s.probes.tried) >= probeEvery {
		asking, cancel := context.WithTimeout(ctx, probeTimeout)
		err := prober.Probe(asking)
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.probes.tried = began
		if s.probes.former, s.probes.last = s.probes.last, began; err != nil {
			s.probes.former, s.probes.last = time.Time{}, time.Time{}
		}
	}
}

// mayRepeat says that the channel can neither look a part up nor send it under its nonce: it is
// sent once more, marked, and for that a sign is waited for.
func (l *Connection) mayRepeat() bool {
	_, finder := l.channel().(channels.Finder)
	_, deduper := l.channel().(channels.Deduper)
	return !finder && !deduper
}

// patience is how long to wait before the next thing is done about the head of conv, whose
// latest send nobody knows the end of; decides is that it is to be decided what that is, which
// needs no right to send. There is one repeat: made at once it would fail of what the first try
// failed of. To look a part up, or to send its nonce again, costs nothing and needs no sign.
func (s *sender) patience(ctx context.Context, conv channels.ConversationID) (wait time.Duration, decides bool) {
	s.mu.Lock()
	f := s.of(conv).failing
	var at time.Time
	if f != nil && f.uncertain {
		at, decides = f.at, !f.decided
	}
	s.mu.Unlock()
	if at.IsZero() || !s.line.mayRepeat() {
		return 0, decides
	}
	return s.awaitSign(ctx, at), decides
}
