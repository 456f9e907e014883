package api

import (
	"context"
	"net/http/httptest"
	"strings"
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

// Who reads with a token that is revoked meanwhile is told nothing more.
func TestRevokedTokenReadsNothingMore(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/sessions/ada/events?delta=0", "/v1/events", "/v1/sessions/ada?wait=30s&after=0"} {
		synctest.Test(t, func(t *testing.T) {
			h, r := newTestAPI(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			line, over := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(over)
				call := httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
				call.Header.Set("Authorization", "Bearer ada's")
				h.ServeHTTP(line, call)
			}()
			synctest.Wait()
			time.Sleep(goodFor)
			r.revoked.Store(true)
			r.says(10)
			synctest.Wait()
			select {
			case <-over:
			default:
				t.Errorf("%s goes on", path)
				leave()
				<-over
			}
			if text := line.Body.String(); strings.Contains(text, "xxx") || strings.Contains(text, "last_event") {
				t.Errorf("%s was told %q", path, text)
			}
		})
	}
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
