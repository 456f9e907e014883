package router

import (
	"sync"
	"time"

	"switchboard/channels"
)

// limits is the one limiter of a channel: over the whole channel and for each
// conversation, fed by Features.Rates and by what the platform refuses.
type limits struct {
	off      bool    // the settings say so; refusals still count
	override float64 // parts a second over the channel, from the settings; 0: Features

	mu    sync.Mutex
	whole *bucket
	convs map[channels.ConversationID]*bucket
}

func newLimits(setting string) (*limits, error) {
	l := &limits{convs: map[channels.ConversationID]*bucket{}}
	switch setting {
	case "", "default":
	case "off":
		l.off = true
	default:
		rate, _, err := ParseRate(setting)
		if err != nil {
			return nil, err
		}
		l.override = rate
	}
	return l, nil
}

// take takes the right to send one part in conv. When there is none yet it takes
// nothing and says how long to wait.
func (l *limits) take(conv channels.ConversationID, rates channels.Rates, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		rates = channels.Rates{}
	} else if l.override > 0 {
		rates.PerSecond = l.override
	}
	if l.whole == nil {
		l.whole = fresh(rates.PerSecond, now)
	}
	c := l.convs[conv]
	if c == nil {
		c = fresh(rates.PerConversationSecond, now)
		l.convs[conv] = c
	}
	if wait := max(l.whole.wait(now), c.wait(now)); wait > 0 {
		return wait
	}
	l.whole.take()
	c.take()
	return 0
}

// giveBack returns what take took and nobody used.
func (l *limits) giveBack(conv channels.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole.giveBack()
	if c := l.convs[conv]; c != nil {
		c.giveBack()
	}
}

// pauseAll stops the whole channel until then; pause stops one conversation.
func (l *limits) pauseAll(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.whole != nil && until.After(l.whole.until) {
		l.whole.until = until
	}
}

func (l *limits) pause(conv channels.ConversationID, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.convs[conv]; c != nil && until.After(c.until) {
		c.until = until
	}
}

// forget drops what is known of a conversation that has been idle.
func (l *limits) forget(conv channels.ConversationID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.convs[conv]; c != nil && c.wait(now) == 0 && (c.rate == 0 || c.tokens >= c.burst) {
		delete(l.convs, conv)
	}
}

// fresh is a bucket whose burst is one second's worth.
func fresh(rate float64, now time.Time) *bucket {
	b := newBucket(rate, int(rate), now)
	return &b
}
