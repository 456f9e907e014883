package router

import (
	"sync"
	"time"
)

// What cannot be taken in is judged here.
//
//   - Nobody's fault (isNobodysFault): the batch is held back and handed in again.
//   - A value that the database does not take (ErrRefused): that event is rejected.
//   - Anything else: that event is tried alone, aloneTries times. It is rejected if
//     another event was committed since it first failed; otherwise the batch is held back.

const (
	aloneTries = 3
	// alonePause is before the second try; it doubles.
	alonePause = 50 * time.Millisecond
)

// maxFailedEvents bounds what is remembered of events that are not handed in again.
const maxFailedEvents = 1000

// failedEvents are events that could not be taken, for a reason that may be their own. The
// zero value knows of none.
type failedEvents struct {
	mu    sync.Mutex
	taken int64            // events that were committed as what they are
	since map[string]int64 // by key: how many of them there were when the event first failed
}

// took notes that an event was committed.
func (s *failedEvents) took() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
}

func (s *failedEvents) add(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.since[string(key)]; ok {
		return
	}
	if s.since == nil || len(s.since) >= maxFailedEvents {
		s.since = map[string]int64{}
	}
	s.since[string(key)] = s.taken
}

// ownFault says that another event was committed since this one first failed.
func (s *failedEvents) ownFault(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.since[string(key)]
	return ok && s.taken > since
}

func (s *failedEvents) clear(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, string(key))
}
