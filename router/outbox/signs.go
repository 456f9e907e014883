package outbox

import (
	"context"
	"sync"
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
