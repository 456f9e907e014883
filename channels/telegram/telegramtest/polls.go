package telegramtest

import (
	"context"
	"encoding/json"
	"time"
)

// getUpdates waits for updates; unlike other methods it is called without the lock.
func (s *Server) getUpdates(ctx context.Context, b *Bot, p *params) ([]json.RawMessage, *Rejection) {
	offset, limit, timeout := p.int("offset"), p.int("limit"), p.int("timeout")
	allowed, given := p.allowed()
	if p.wrong != nil {
		return nil, p.wrong
	}
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	timeout = min(max(timeout, 0), 50)
	deadline := time.NewTimer(time.Duration(timeout) * time.Second)
	defer deadline.Stop()

	s.Lock()
	if b.hook != nil {
		s.Unlock()
		return nil, conflict(pageUpdates, "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if given {
		b.allowed = allowed
	}
	b.poll++
	me := b.poll
	b.polling++
	defer s.Change(func() { b.polling, b.polled = b.polling-1, s.Now() })
	b.confirm(offset, s.Now())
	s.Wake() // an older poll notices that there is a newer one
	for over := false; ; {
		if b.poll != me {
			s.Unlock()
			return nil, conflict(pageUpdates, "terminated by other getUpdates request; make sure that only one bot instance is running")
		}
		if b.hook != nil {
			s.Unlock()
			return nil, conflict(pageUpdates, "terminated by setWebhook request")
		}
		if s.byToken(b.Token) == nil {
			s.Unlock()
			return nil, unauthorized()
		}
		if s.IsDeaf() {
			s.Unlock()
			select {
			case <-ctx.Done():
			case <-s.Context().Done():
			}
			return nil, nil
		}
		if ready := b.ready(limit); len(ready) > 0 || over {
			s.Unlock()
			return ready, nil
		}
		changed := s.Changed()
		s.Unlock()
		select {
		case <-ctx.Done():
			return nil, nil
		case <-changed:
		case <-deadline.C:
			over = true
		}
		s.Lock()
	}
}
