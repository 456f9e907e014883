package router

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/channels"
	"switchboard/retry"
)

// A show brings one draft to the platform: the latest text alone, no faster than the
// channel likes, in spare budget, and never while something said before is on its way.
type show struct {
	shows *shows
	draft Draft
	fresh chan struct{} // the text may be another
	done  chan struct{} // closed when the last call has ended and is written down

	ctx     context.Context // ends when nothing more is to be shown
	end     context.CancelFunc
	stopped atomic.Bool // it was told to stop, and did not come to its end by itself

	begun bool // run's: the ledger knows that this hold shows it
	here  bool // under shows.mu: the turn runs on this engine

	mu    sync.Mutex
	text  func() (channels.Body, bool)
	cut   context.CancelFunc // of the call under way; nil: none
	doubt bool               // a call broke off, and may yet change what is shown
}

func newShow(s *shows, d Draft) *show {
	w := &show{shows: s, draft: d, fresh: make(chan struct{}, 1), done: make(chan struct{})}
	w.ctx, w.end = context.WithCancel(s.ctx)
	return w
}

// feed says where the text comes from now. Called under shows.mu.
func (w *show) feed(here bool, text func() (channels.Body, bool)) {
	w.here = here
	w.mu.Lock()
	w.text = text
	w.mu.Unlock()
	poke(w.fresh)
}

// stop shows nothing more; a call under way goes on.
func (w *show) stop() {
	w.stopped.Store(true)
	w.end()
}

// over says that the last call has ended.
func (w *show) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// lost says that the call which began it, its last, was never answered: what it showed
// has no ID that anybody could edit or take back.
func (w *show) lost() bool {
	return w.over() && w.inDoubt() && w.draft.PlatformID == ""
}

func (w *show) wanted() (channels.Body, bool) {
	w.mu.Lock()
	text := w.text
	w.mu.Unlock()
	return text()
}

func (w *show) inDoubt() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubt
}

// cutOff breaks a call off that takes too long.
func (w *show) cutOff() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut != nil {
		w.cut()
		w.doubt = true
	}
}

func (w *show) run() {
	defer func() {
		w.end()
		if w.stopped.Load() && !w.inDoubt() { // otherwise it is not to be begun anew
			w.shows.forget(w)
		}
		close(w.done)
	}()
	l := w.shows.sender.line
	every := l.channel.Features(w.draft.Conversation).DraftEvery
	var last time.Time
	var shown channels.Body
	for w.ctx.Err() == nil {
		body, ok := w.wanted()
		if !ok || sameBody(body, shown) {
			select {
			case <-w.ctx.Done():
			case <-w.fresh:
			}
			continue
		}
		if wait := time.Until(last.Add(every)); wait > 0 {
			retry.Sleep(w.ctx, wait)
			continue
		}
		ready, err := w.ready(l)
		if err != nil {
			return
		}
		if !ready {
			retry.Sleep(w.ctx, draftRetry)
			continue
		}
		last = time.Now()
		if err = w.call(l, body); err == nil {
			shown = body
		} else if !w.failed(l, err) {
			return
		}
	}
}

// ready takes the right to show the draft just now: nothing said before is still on
// its way, for the answer will stand where the draft does, and there is budget to
// spare. Before it is shown for the first time the ledger notes that this hold does
// so. An error says that it never can be.
func (w *show) ready(l *line) (ready bool, err error) {
	s, conv := w.shows.sender, w.draft.Conversation
	if !s.quiet(conv.ID) || !l.router.Engine.Safe() || !l.limits.spare(conv.ID, l.channel.Features(conv).Rates, time.Now()) {
		return false, nil
	}
	if w.begun {
		return true, nil
	}
	id, ready, err := l.router.Ledger.BeginDraft(w.ctx, s.hold, w.draft.Delivery)
	if ready {
		w.begun, w.draft.PlatformID = true, id
		if w.ctx.Err() == nil {
			return true, nil
		}
		if id == "" {
			w.record(l, "")
		}
	}
	l.limits.giveSpareBack(conv.ID)
	if errors.Is(err, ErrConflict) || err != nil && s.isLost(err) {
		return false, err
	}
	return false, nil // the database may be back soon
}

// call shows body, and has the ledger know where after the first time.
func (w *show) call(l *line, body channels.Body) error {
	drafter, ok := l.channel.(channels.Drafter)
	if !ok {
		return channels.ErrNoMessage
	}
	ctx, done := l.aside(w.shows.ctx, draftTimeout)
	defer done()
	w.mu.Lock()
	w.cut = done
	w.mu.Unlock()
	id, err := drafter.Draft(ctx, w.draft.Conversation, w.draft.PlatformID, w.draft.ReplyTo, body)
	w.mu.Lock()
	w.cut = nil
	w.doubt = w.doubt || err != nil && !surelyNot(err)
	doubt := w.doubt
	w.mu.Unlock()
	switch {
	case w.draft.PlatformID != "" || doubt && err != nil:
	case err != nil:
		w.record(l, "")
	default:
		w.record(l, id)
	}
	return err
}

// record writes down what became of the first call: without an id, that nothing is
// shown.
func (w *show) record(l *line, id channels.MessageID) {
	w.draft.PlatformID, w.begun = id, id != ""
	ctx := context.WithoutCancel(w.ctx)
	for range retry.Doubling(w.shows.ctx, 50*time.Millisecond, 2*time.Second) {
		late, err := l.router.Ledger.Drafted(ctx, w.shows.sender.hold, w.draft.Delivery, id)
		switch {
		case err == nil && late:
			w.end()
			w.shows.lookAgain()
			return
		case err == nil:
			return
		case w.shows.ctx.Err() != nil:
			l.router.Log.WarnContext(ctx, "a draft may be shown that nobody will find", "channel", l.name, "turn_id", w.draft.Turn, "error", err)
			w.end()
			return
		}
	}
}

// surelyNot says that a call which ended so changed nothing, and will not.
func surelyNot(err error) bool {
	_, limited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	return limited || refused || errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrNoMessage) ||
		errors.Is(err, channels.ErrGone) || errors.Is(err, channels.ErrMoved) || errors.Is(err, channels.ErrUnauthorized)
}

// failed says whether the draft may be shown later.
func (w *show) failed(l *line, err error) bool {
	l.router.Log.DebugContext(w.ctx, "a draft was not shown", "channel", l.name, "turn_id", w.draft.Turn, "error", err)
	now := time.Now()
	limited, isLimited := errors.AsType[*channels.RateLimitError](err)
	refused, isRefused := errors.AsType[*channels.RefusedError](err)
	switch {
	case isLimited && limited.Channel:
		l.limits.pauseAll(now.Add(cmp.Or(limited.RetryAfter, retryMin)))
	case isLimited:
		l.limits.pause(w.draft.Conversation.ID, now.Add(cmp.Or(limited.RetryAfter, retryMin)))
	case errors.Is(err, channels.ErrNotConnected):
		retry.Sleep(w.ctx, retryMin)
	case isRefused && refused.Temporary:
		retry.Sleep(w.ctx, retryMin)
	default:
		return false
	}
	return true
}
