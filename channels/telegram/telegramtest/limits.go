package telegramtest

import (
	"math"
	"time"
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
	rates Rates
	all   []time.Time
	chats map[chatKey][]time.Time
	// refused counts the 429s.
	refused int
}

// Limit makes the server refuse with 429 what goes beyond r. At first there are no
// limits.
func (s *Server) Limit(r Rates) {
	s.change(func() { s.limits = &limiter{rates: r, chats: map[chatKey][]time.Time{}} })
}

// Refused counts the calls that were refused by Limit.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits == nil {
		return 0
	}
	return s.limits.refused
}

// limit counts n messages to the chat, or refuses them.
func (s *Server) limit(c *chat, n int) *Rejection {
	if s.limits == nil {
		return nil
	}
	l, now := s.limits, s.now()
	here := recent(l.chats[c.key], now, time.Minute)
	l.all = recent(l.all, now, time.Second)
	wait := max(
		over(l.all, now, time.Second, l.rates.PerSecond, n),
		over(here, now, time.Second, l.rates.PerChat, n),
	)
	if c.Type != "private" {
		wait = max(wait, over(here, now, time.Minute, l.rates.GroupMinute, n))
	}
	if wait > 0 {
		l.refused++
		return tooMany(int(math.Ceil(wait.Seconds())))
	}
	for range n {
		l.all, here = append(l.all, now), append(here, now)
	}
	l.chats[c.key] = here
	return nil
}

// recent are the times within the window before now.
func recent(times []time.Time, now time.Time, window time.Duration) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= window {
		times = times[1:]
	}
	return times
}

// over says how long to wait until n more fit into the window; 0: they fit. More than
// fit at all, as a media group of several, go when the window is empty.
func over(times []time.Time, now time.Time, window time.Duration, most, n int) time.Duration {
	times = recent(times, now, window)
	if most == 0 || len(times) == 0 || len(times)+n <= most {
		return 0
	}
	last := min(len(times)+n-most, len(times))
	return max(window-now.Sub(times[last-1]), time.Millisecond)
}
