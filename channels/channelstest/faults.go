package channelstest

import (
	"errors"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// A Fault is what becomes of one send; the zero value lets it succeed. The delay
// comes first, then at most one of the others.
type Fault struct {
	Delay       time.Duration
	RateLimited bool          // refused for now
	RetryAfter  time.Duration // with RateLimited
	Channel     bool          // with RateLimited: the whole channel
	Refused     string        // a complete error reply with these words
	Temporary   bool          // with Refused
	Gone        bool
	Moved       bool // the conversation has a new ID
	NoMessage   bool // of a change: the message is not there any more
	LoseRequest bool // the connection ends before the send took effect
	LoseAnswer  bool // the connection ends after the send took effect
}

const opPost = "post"

func (f Fault) refusal() error {
	switch {
	case f.RateLimited:
		return &channels.RateLimitError{
			Op: opPost, RetryAfter: f.RetryAfter, Channel: f.Channel, Err: errors.New("slow down"),
		}
	case f.Refused != "":
		return &channels.RefusedError{Op: opPost, Reason: f.Refused, Temporary: f.Temporary}
	case f.Gone:
		return channels.ErrGone
	case f.Moved:
		return channels.ErrMoved
	case f.NoMessage:
		return channels.ErrNoMessage
	case f.LoseRequest:
		return errLost
	}
	return nil
}

// planned are the faults of calls of one kind, and what came of that kind.
type planned[T any] struct {
	*state
	came []T
	next []Fault // of the calls that come first
	ask  func(T) Fault
}

// fault is what becomes of a call; only one that may take a fault of next does.
func (p *planned[T]) fault(call T, may bool) (fault Fault) {
	var ask func(T) Fault
	p.change(func() {
		p.came = append(p.came, call)
		if may && len(p.next) > 0 {
			fault, p.next = p.next[0], p.next[1:]
			return
		}
		ask = p.ask
	})
	if ask != nil {
		return ask(call)
	}
	return fault
}

// faults are those of posts and of changes.
type faults struct {
	posts   planned[scripted.Post]
	changes planned[scripted.Change]
}

// Next plans the faults of the next sends, one each, before OnSend is asked.
func (f *faults) Next(next ...Fault) {
	f.posts.change(func() { f.posts.next = append(f.posts.next, next...) })
}

// OnSend asks ask about every send that Next has no fault for; nil stops that. ask is
// called without locks held and possibly by several goroutines at once.
func (f *faults) OnSend(ask func(scripted.Post) Fault) {
	f.posts.change(func() { f.posts.ask = ask })
}

// NextChange plans the faults of the next changes, one each, before OnChange is
// asked. Probes, typing and menus are no changes in this sense.
func (f *faults) NextChange(next ...Fault) {
	f.changes.change(func() { f.changes.next = append(f.changes.next, next...) })
}

// OnChange asks ask about every change that NextChange has no fault for, of whichever
// kind; nil stops that. ask is called without locks held and possibly by several
// goroutines at once.
func (f *faults) OnChange(ask func(scripted.Change) Fault) {
	f.changes.change(func() { f.changes.ask = ask })
}

// Tries lists every part that reached the platform, whatever became of it.
func (f *faults) Tries() []scripted.Post {
	f.posts.mu.Lock()
	defer f.posts.mu.Unlock()
	return slices.Clone(f.posts.came)
}

// Changes lists every change of these kinds that reached the platform, whatever
// became of it; with no kind, of all.
func (f *faults) Changes(ops ...scripted.Op) []scripted.Change {
	f.changes.mu.Lock()
	defer f.changes.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.changes.came), func(c scripted.Change) bool {
		return len(ops) > 0 && !slices.Contains(ops, c.Op)
	})
}
