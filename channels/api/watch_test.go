package api

import (
	"context"
	"encoding/json"
	"fmt"
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

// Who may not read any more, because the token is revoked or its person is an admin now, is told nothing more.
func TestWhoMayNotReadAnyMoreIsToldNothing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/sessions/ada/events?delta=0", "/v1/events", "/v1/sessions/ada?wait=30s&after=0"} {
		for why, does := range map[string]func(*rows){
			"revoked": func(r *rows) { r.revoked.Store(true) },
			"raised":  func(r *rows) { r.raised.Store(true) },
		} {
			synctest.Test(t, func(t *testing.T) {
				h, r := newTestAPI(t)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				line, over := httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(over)
					call := httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
					call.Header.Set("Authorization", "Bearer readers'")
					h.ServeHTTP(line, call)
				}()
				synctest.Wait()
				time.Sleep(goodFor)
				does(r)
				r.says(10)
				synctest.Wait()
				select {
				case <-over:
				default:
					if path != "/v1/events" || why == "revoked" { // others' sessions are told of
						t.Errorf("%s, %s: it goes on", path, why)
					}
					leave()
					<-over
				}
				if text := line.Body.String(); strings.Contains(text, "xxx") || strings.Contains(text, "last_event") {
					t.Errorf("%s, %s: it was told %q", path, why, text)
				}
			})
		}
	}
}

// A long session is read in several calls, and never much of it at once.
func TestLongSessionIsReadInParts(t *testing.T) {
	t.Parallel()
	const messages, size = 400, 20 << 10
	h, r := newTestAPI(t)
	for range messages {
		r.says(size)
	}
	last, read, calls := int64(0), 0, 0
	for {
		w := ask(h, "GET", fmt.Sprintf("/v1/sessions/ada?after=%d", last), "ada's", "")
		var got struct {
			Messages []struct {
				Event int64 `json:"event"`
			} `json:"messages"`
			LastEvent int64 `json:"last_event"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Body.Len() > 2*answerBytes {
			t.Fatalf("an answer of %d bytes, error %v", w.Body.Len(), err)
		}
		for _, m := range got.Messages {
			if read++; m.Event != int64(read) {
				t.Fatalf("event %d comes as number %d", m.Event, read)
			}
		}
		if last = got.LastEvent; len(got.Messages) == 0 {
			break
		}
		calls++
	}
	if read != messages || calls < messages*size/(2*answerBytes) {
		t.Errorf("%d messages in %d calls", read, calls)
	}
	if export := ask(h, "GET", "/v1/sessions/ada/export?format=markdown", "ada's", ""); export.Body.Len() < messages*size {
		t.Errorf("an export of %d bytes", export.Body.Len())
	}
	if r.most > pageFirst*size {
		t.Errorf("%d bytes were read at once", r.most)
	}
}

// The end of the engine ends a write that is under way, but not the goodbye behind it.
func TestGoodbyeIsSentWhenTheEngineStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{ResponseRecorder: httptest.NewRecorder()}
		s := NewStream(line)
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
