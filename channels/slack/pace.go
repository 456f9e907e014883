package slack

import (
	"errors"
	"sync"
	"time"

	"switchboard/channels"
)

// tiers are how often a method is called, in calls a minute over the workspace: a tenth below what the
// platform lets through. A sign is put on as often as it can be taken off. What is not listed has limits
// of its own kind: chat.postMessage is paced for each conversation (Features), auth.test hardly limited.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits, and each method's page.
var tiers = map[string]int{
	"chat.update": tier3, "chat.delete": tier3,
	"conversations.history": tier3, "conversations.replies": tier3, "conversations.info": tier3,
	"chat.postEphemeral": tier4, "users.info": tier4, "users.conversations": tier3,
	"reactions.add": tier2, "reactions.remove": tier2, "agents.sessions.setStatus": tier3,
	"files.getUploadURLExternal": tier4, "files.completeUploadExternal": tier4, "files.info": tier4, "files.delete": tier3,
	"apps.connections.open": tier3,
}

const (
	tier2 = 18
	tier3 = 45
	tier4 = 90
	// limitedFor is how long an app is taken for one whose history is limited, until it is found out
	// again.
	limitedFor = 10 * time.Minute
)

// A pacer counts the calls of each method, so that the platform has none to refuse.
type pacer struct {
	span time.Duration // a minute

	mu      sync.Mutex
	methods map[string]*methodPace
	limited time.Time // until when history is limited
}

// A methodPace is what is known of one method.
type methodPace struct {
	calls []time.Time // of the last span
	until time.Time   // the platform wants none before
}

// take takes the right to call a method, or says how long there is none.
func (p *pacer) take(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, most, now := p.of(op)
	if m == nil {
		return nil
	}
	wait := m.until.Sub(now)
	if n := len(m.calls) - most; n >= 0 {
		wait = max(wait, p.span-now.Sub(m.calls[n]))
	}
	if wait > 0 {
		return &channels.RateLimitError{Op: op, RetryAfter: wait, Err: errors.New("it was called as often as it may be")}
	}
	m.calls = append(m.calls, now)
	return nil
}

// left is how often a method may be called now.
func (p *pacer) left(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, most, now := p.of(op)
	if m.until.After(now) {
		return 0
	}
	return max(most-len(m.calls), 0)
}

// of is what is known of a method, and how often it may be called; nil: it is not paced. Called under
// the lock.
func (p *pacer) of(op string) (m *methodPace, most int, now time.Time) {
	now = time.Now()
	most, paced := tiers[op]
	if !paced {
		return nil, 0, now
	}
	if p.methods == nil {
		p.methods = map[string]*methodPace{}
	}
	if m = p.methods[op]; m == nil {
		m = &methodPace{}
		p.methods[op] = m
	}
	if readsHistory(op) && now.Before(p.limited) {
		most = 1
	}
	for len(m.calls) > 0 && now.Sub(m.calls[0]) >= p.span {
		m.calls = m.calls[1:]
	}
	return m, most, now
}

func readsHistory(op string) bool {
	return op == "conversations.history" || op == "conversations.replies"
}

// ended notes when the platform wants a method again that it refused. That says nothing of the app: after
// a start many read history at once, and the calls of the time before count too.
func (p *pacer) ended(op string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, _, now := p.of(op)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok && m != nil {
		m.until = now.Add(limited.RetryAfter)
	}
}

// limit notes whether history is limited, as the length of a page of it showed.
func (p *pacer) limit(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limited = (time.Time{}); on {
		p.limited = time.Now().Add(limitedFor)
	}
}

func (p *pacer) isLimited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.limited)
}
