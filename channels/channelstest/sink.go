package channelstest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
)

// ErrNotTaken is what Sink.Accept returns where it was told to fail.
var ErrNotTaken = errors.New("the events were not taken")

// Sink keeps what a channel hands in, as the router would: a known key is a
// duplicate. It may be used by several goroutines at once.
type Sink struct {
	*state
	events   []channels.Event
	keys     map[channels.EventKey]int64
	handed   []channels.Event
	fail     int
	hold     chan struct{}
	held     int
	received int
	toast    string
	silent   bool
	marks    []channels.Mark // the newest first
}

var _ channels.Sink = (*Sink)(nil)

// NewSink makes an empty sink.
func NewSink() *Sink {
	return &Sink{state: newState(), keys: map[channels.EventKey]int64{}}
}

// Accept implements channels.Sink.
func (s *Sink) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	s.mu.Lock()
	if hold := s.hold; hold != nil {
		s.held++
		s.notify()
		s.mu.Unlock()
		select {
		case <-hold:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	defer s.notify()
	s.handed = append(s.handed, batch...)
	if s.fail > 0 {
		s.fail--
		return nil, ErrNotTaken
	}
	receipts := make([]channels.Receipt, len(batch))
	for i, e := range batch {
		s.note(e.Mark)
		if n, ok := s.keys[e.Key]; ok {
			receipts[i] = channels.Receipt{Duplicate: true, MessageID: n, Event: n}
			continue
		}
		s.events = append(s.events, e)
		n := int64(len(s.events))
		s.keys[e.Key] = n
		receipts[i] = channels.Receipt{MessageID: n, Event: n, Silent: s.silent}
		if e.Kind == channels.EventAction {
			receipts[i].Toast = s.toast
		}
	}
	return receipts, nil
}

// note is called under the lock.
func (s *Sink) note(m channels.Mark) {
	if m.Value == "" {
		return
	}
	m.At = time.Now()
	s.marks = slices.DeleteFunc(s.marks, func(old channels.Mark) bool { return old.Conversation == m.Conversation })
	s.marks = slices.Insert(s.marks, 0, m)
}

// Marks implements channels.Sink.
func (s *Sink) Marks(context.Context) ([]channels.Mark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.marks), nil
}

// Received implements channels.Sink.
func (s *Sink) Received() { s.change(func() { s.received++ }) }

// Frames counts the calls of Received.
func (s *Sink) Frames() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Fail makes the next n calls of Accept fail; nothing of them is kept.
func (s *Sink) Fail(n int) { s.change(func() { s.fail = n }) }

// Toast is what later presses of buttons are answered with.
func (s *Sink) Toast(text string) { s.change(func() { s.toast = text }) }

// Silent makes later events those of people who are not served.
func (s *Sink) Silent(on bool) { s.change(func() { s.silent = on }) }

// Hold makes Accept wait; release lets it go on.
func (s *Sink) Hold() (release func()) {
	hold := make(chan struct{})
	s.change(func() { s.hold = hold })
	return sync.OnceFunc(func() {
		s.change(func() { s.hold = nil })
		close(hold)
	})
}

// Held counts the calls of Accept that Hold stopped so far.
func (s *Sink) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Events lists what was taken, each key once, in order.
func (s *Sink) Events() []channels.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// Handed lists everything that was handed in, repeated and refused ones included.
func (s *Sink) Handed() []channels.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.handed)
}

// Texts lists the texts of Events.
func (s *Sink) Texts() []string {
	var texts []string
	for _, e := range s.Events() {
		texts = append(texts, e.Message.Text)
	}
	return texts
}
