package router

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/retry"
)

const (
	// draftPatience is how long a part waits for a call about the draft whose place it
	// takes. To edit what is shown is quieter than to send it anew.
	draftPatience = 250 * time.Millisecond
	// draftFarewell is how long a call about a draft may go on after the channel's end:
	// cut off, nobody would know what it showed.
	draftFarewell = 2 * time.Second
	// lookEvery is the least time between two looks at the drafts in the ledger.
	lookEvery = 200 * time.Millisecond
	// takeBackAtMost is how long it is tried to take a draft back.
	takeBackAtMost = time.Hour
)

// shows brings what grows in a channel's conversations to the platform, under the
// channel's lease: the texts of turns that run here from memory, of turns on other
// engines from the ledger. Best effort; no turn and no part waits for it, but for the
// moment in which a call is likely to end.
type shows struct {
	sender *sender
	again  chan struct{} // the ledger is to be looked at

	mu     sync.Mutex
	ctx    context.Context // of run; nil: it has not begun
	list   map[int64]*show // by delivery
	taking map[int64]bool  // drafts that are being taken back
	work   sync.WaitGroup
}

func newShows(s *sender) *shows {
	return &shows{sender: s, again: make(chan struct{}, 1), list: map[int64]*show{}, taking: map[int64]bool{}}
}

// run looks at the ledger when told, and now and then, until ctx ends; then it waits
// for all that is shown.
func (s *shows) run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.sender.line.watchDrafts(ctx, s.again, s.heed)
	s.mu.Lock() // whoever adds work looks at ctx under it
	s.mu.Unlock()
	s.work.Wait()
}

// runs says whether something may be shown. Called under the lock.
func (s *shows) runs() bool { return s.ctx != nil && s.ctx.Err() == nil }

// watchDrafts hands the channel's drafts to heed when told, and now and then, until
// ctx ends.
func (l *line) watchDrafts(ctx context.Context, again <-chan struct{}, heed func([]Draft)) {
	for ctx.Err() == nil {
		list, err := l.router.Ledger.Drafts(ctx, l.name)
		if err == nil {
			heed(list)
		} else if ctx.Err() == nil {
			l.router.Log.WarnContext(ctx, "cannot look at the drafts", "channel", l.name, "error", err)
		}
		timer := time.NewTimer(pollIdle)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-again:
			retry.Sleep(ctx, lookEvery)
		}
		timer.Stop()
	}
}

// lookAgain says that the ledger has something new about drafts.
func (s *shows) lookAgain() { poke(s.again) }

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// heed shows the drafts of other engines, and takes back what nobody needs.
func (s *shows) heed(list []Draft) {
	open, known := map[int64]bool{}, map[int64]bool{}
	for i := range list {
		d := &list[i]
		known[d.Delivery] = true
		switch {
		case d.Stage == DraftLeave:
			s.takeBack(d)
		case d.Body.Text == "" || d.Stage == DraftBegun && d.Fence != s.sender.hold.Fence:
			// The turn's engine shows it, or it is shown where nobody finds it.
		default:
			open[d.Delivery] = true
			body := d.Body
			s.show(*d, false, func() (channels.Body, bool) { return body, true })
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, w := range s.list {
		if !w.here && !open[id] {
			s.closed(w)
		}
		if !known[id] && w.lost() {
			delete(s.list, id)
		}
	}
}

// show shows text, which is asked for when there is budget for it, where the draft
// is; here says that the turn runs on this engine. It returns nil when that cannot be
// now.
func (s *shows) show(d Draft, here bool, text func() (channels.Body, bool)) *show {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.runs() {
		return nil
	}
	w := s.list[d.Delivery]
	switch {
	case w == nil:
		w = newShow(s, d)
		w.feed(here, text)
		s.list[d.Delivery] = w
		s.work.Go(w.run)
	case w.stopped.Load(): // its last call is not over
		return nil
	case here || !w.here: // the turn knows better than the row
		w.feed(here, text)
	}
	return w
}

// close says that nothing more is to be shown.
func (s *shows) close(w *show) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed(w)
}

// closed is close under the lock.
func (s *shows) closed(w *show) {
	w.stop()
	if w.over() && !w.inDoubt() && s.list[w.draft.Delivery] == w {
		delete(s.list, w.draft.Delivery)
	}
}

// end says that a message takes the draft's place; sure, that nothing will change any
// more what is shown of it.
func (s *shows) end(delivery int64) (sure bool) {
	s.mu.Lock()
	w := s.list[delivery]
	s.mu.Unlock()
	if w == nil {
		return true
	}
	w.stop()
	timer := time.NewTimer(draftPatience)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		w.cutOff()
	}
	s.forget(w)
	return !w.inDoubt()
}

func (s *shows) forget(w *show) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[w.draft.Delivery] == w {
		delete(s.list, w.draft.Delivery)
	}
}

// takeBack removes a draft that nobody needs from the platform, in the background.
func (s *shows) takeBack(d *Draft) {
	l := s.sender.line
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.runs() || s.taking[d.Delivery] {
		return
	}
	delete(s.list, d.Delivery)
	s.taking[d.Delivery] = true
	ctx := s.ctx
	s.work.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.taking, d.Delivery)
		}()
		outcome := s.remove(ctx, d)
		if outcome == "" && time.Since(d.Since) < takeBackAtMost {
			return // the next look finds it
		}
		ctx := context.WithoutCancel(ctx)
		if err := l.router.Ledger.TakenBack(ctx, s.sender.hold, d.Delivery, cmp.Or(outcome, "left")); err != nil {
			l.router.Log.DebugContext(ctx, "cannot end a draft", "channel", l.name, "delivery_id", d.Delivery, "error", err)
		}
	})
}

// remove deletes what is shown of a draft; an empty outcome says that it may be tried
// again.
func (s *shows) remove(ctx context.Context, d *Draft) (outcome string) {
	l := s.sender.line
	deleter, ok := l.channel.(channels.Deleter)
	if !ok {
		return "left"
	}
	if !l.router.Engine.Safe() {
		return ""
	}
	ctx, done := l.aside(ctx, draftTimeout)
	defer done()
	err := deleter.Delete(ctx, d.Conversation, d.PlatformID)
	refused, isRefused := errors.AsType[*channels.RefusedError](err)
	switch {
	case err == nil:
		return "taken_back"
	case errors.Is(err, channels.ErrNoMessage):
		return "taken_back" // by somebody else
	case isRefused && !refused.Temporary, errors.Is(err, channels.ErrGone), errors.Is(err, channels.ErrMoved):
		return "left"
	}
	l.router.Log.DebugContext(ctx, "a draft stays for now", "channel", l.name, "delivery_id", d.Delivery, "error", err)
	return ""
}

// aside is the context of a call that shows something: it ends before the leases
// could, and soon after ctx.
func (l *line) aside(ctx context.Context, atMost time.Duration) (context.Context, context.CancelFunc) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), atMost)
	call, release := l.router.Engine.Guard(call)
	forget := context.AfterFunc(ctx, func() {
		retry.Sleep(call, draftFarewell)
		cancel()
	})
	return call, sync.OnceFunc(func() { forget(); release(); cancel() })
}

func sameBody(a, b channels.Body) bool { return a.Text == b.Text && bytes.Equal(a.Rich, b.Rich) }
