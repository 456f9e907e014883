package slacktest

import (
	"time"

	"switchboard/channels/platformtest"
)

// A limiter counts what was called when, and refuses what is too much.
type limiter struct {
	off     bool
	methods map[string]*platformtest.Window
	places  map[string]*platformtest.Window
	all     platformtest.Window
	history int // messages a call; 0: as asked
	refused int
}

// burst is how many messages a conversation takes at once.
const burst = 3

func newLimiter() limiter {
	return limiter{
		methods: map[string]*platformtest.Window{}, places: map[string]*platformtest.Window{}, all: platformtest.Window{Span: time.Minute, Most: 300},
	}
}

// Limit makes the platform keep to its limits, or not: each method's tier, one message a second
// in a conversation with a short burst, and a few hundred a minute over all. At first it keeps to them.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits.
func (s *calls) Limit(on bool) {
	s.Change(func() {
		s.limits = newLimiter()
		s.limits.off = !on
	})
}

// LimitHistory makes reading history as slow as it is for apps that are distributed
// commercially without a listing: 15 messages a call, one call a minute.
//
// Source: https://docs.slack.dev/reference/methods/conversations.history.
func (s *calls) LimitHistory() {
	s.Limit(true)
	s.Change(func() { s.limits.history = 15 })
}

// Refused counts the calls that were refused by Limit.
func (s *calls) Refused() int {
	s.Lock()
	defer s.Unlock()
	return s.limits.refused
}

// limit counts a call, or refuses it.
func (s *calls) limit(m method, p *params) *Rejection {
	l := &s.limits
	if l.off {
		return nil
	}
	now := s.Now()
	if m.tier == 0 {
		here := l.places[p.values["channel"]]
		if here == nil {
			here = &platformtest.Window{Span: burst * time.Second, Most: burst}
			l.places[p.values["channel"]] = here
		}
		if wait := here.Wait(now, 1); wait > 0 {
			l.refused++
			return TooMany(wait)
		}
		if wait := l.all.Wait(now, 1); wait > 0 {
			l.refused++
			return TooManyAll(wait)
		}
		here.Add(now, 1)
		l.all.Add(now, 1)
		return nil
	}
	most := m.tier
	if l.history > 0 && m.scope == "history" {
		most = 1
	}
	w := l.methods[p.method]
	if w == nil {
		w = &platformtest.Window{Span: time.Minute, Most: most}
		l.methods[p.method] = w
	}
	if wait := w.Wait(now, 1); wait > 0 {
		l.refused++
		return TooMany(wait)
	}
	w.Add(now, 1)
	return nil
}
