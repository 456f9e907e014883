package api

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowLine is a connection on which an end takes its time to come.
type slowLine struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
}

func (l *slowLine) SetWriteDeadline(at time.Time) error {
	if !at.After(time.Now()) {
		time.Sleep(10 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = at
	return nil
}

// The end of the engine ends a write that is under way, but not the goodbye behind it.
func TestGoodbyeIsSentWhenTheEngineStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{ResponseRecorder: httptest.NewRecorder()}
		s := newStream(line)
		ctx, stop := context.WithCancel(t.Context())
		release := s.hangUp(ctx)
		defer release()
		stop()
		synctest.Wait()
		release()
		s.announceStop()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if left := time.Until(line.deadline); left < 500*time.Millisecond {
			t.Errorf("the goodbye had %s", left)
		}
		if text := line.Body.String(); text != ": the engine stops\nretry: 1000\n\n" {
			t.Errorf("it said %q", text)
		}
	})
}
