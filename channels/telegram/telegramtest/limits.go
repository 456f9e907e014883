package telegramtest

import (
	"math"
	"time"

	"switchboard/channels/platformtest"
)

// Rates are the platform's limits of sending; zero means no limit.
type Rates struct {
	PerSecond   int // messages over all chats
	PerChat     int // messages a second in one chat
	GroupMinute int // messages a minute in one group
}

// DefaultRates are what the platform says of itself.
//
// Source: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
var DefaultRates = Rates{PerSecond: 30, PerChat: 1, GroupMinute: 20}

// A limiter remembers when what was sent.
type limiter struct {
	rates   Rates
	all     platformtest.Window
	chats   map[chatKey]*[2]platformtest.Window // of a second, of a minute
	refused int                                 // how many 429s
}

// Limit makes the server refuse with 429 what goes beyond r. At first there are no
// limits.
func (s *calls) Limit(r Rates) {
	s.Change(func() {
		s.limits = &limiter{rates: r, all: platformtest.Window{Span: time.Second, Most: r.PerSecond}, chats: map[chatKey]*[2]platformtest.Window{}}
	})
}

// Refused counts the calls that were refused by Limit.
func (s *calls) Refused() int {
	s.Lock()
	defer s.Unlock()
	if s.limits == nil {
		return 0
	}
	return s.limits.refused
}

// limit counts n messages to the chat, or refuses them.
func (s *calls) limit(c *chat, n int) *Rejection {
	if s.limits == nil {
		return nil
	}
	l, now := s.limits, s.Now()
	here := l.chats[c.key]
	if here == nil {
		here = &[2]platformtest.Window{{Span: time.Second, Most: l.rates.PerChat}, {Span: time.Minute, Most: l.rates.GroupMinute}}
		if c.Type == "private" {
			here[1].Most = 0
		}
		l.chats[c.key] = here
	}
	if wait := max(l.all.Wait(now, n), here[0].Wait(now, n), here[1].Wait(now, n)); wait > 0 {
		l.refused++
		return TooMany(int(math.Ceil(wait.Seconds())))
	}
	l.all.Add(now, n)
	here[0].Add(now, n)
	here[1].Add(now, n)
	return nil
}
