package delivery

import (
	"context"
	"errors"
	"time"

	"switchboard/router/core"
	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	// draftTimeout bounds one call about a draft.
	draftTimeout = 10 * time.Second
	// lateAfter is how long the platform may still carry out a call that broke off.
	lateAfter = 2 * time.Second
	// retractAtMost is how long it is tried to retract a draft.
	retractAtMost = time.Hour
)

// A draft brings one Draft to the platform under the channel's lease: the latest text
// alone, no faster than the channel likes, in spare budget, and never while something
// said before is on its way. Or it retracts it.
type draft struct {
	presenter *presenter
	row       outbox.Draft                 // its Stage and PlatformID belong to run until its end
	text      func() (channels.Body, bool) // what is to be shown now; nil: it is retracted
	// first is what is shown by a first call that nobody can look up: no part of an answer, for if the
	// call's end is not known it stays, and the answer is sent below it.
	first func() channels.Body
	news  chan struct{} // the text may be another

	ctx  context.Context // ends when nothing more is to be shown
	stop context.CancelFunc
	// calls is the context of the calls, which the end of ctx does not break off.
	calls context.Context
	cut   context.CancelFunc

	unknown    bool            // it is to be retracted, if it is shown at all
	ended      context.Context // ends when the last call has ended and is recorded
	end        context.CancelFunc
	unanswered bool // run's until its end: a call broke off, and may yet change what is shown
}

// over says that the last call has ended.
func (d *draft) over() bool { return d.ended.Err() != nil }

func (d *draft) run() {
	defer d.cut()
	defer func() {
		if d.unanswered {
			d.presenter.poll() // which passes by what is not over
		}
	}()
	defer d.end()
	defer retry.Signal(d.news) // the turn may wait for what this took
	if d.text == nil {
		if !d.unknown || d.lookUp() {
			d.retract()
		}
		return
	}
	every := func() time.Duration { return d.presenter.channel().Features(d.row.Conversation).DraftEvery }
	var last time.Time
	var shown channels.Body
	for retry.Sleep(d.ctx, time.Until(last.Add(every()))) {
		body, ok := d.text()
		if !ok || sameBody(body, shown) {
			retry.Await(d.ctx, d.news, pollIdle)
			retry.Sleep(d.ctx, draftSettle)
			continue
		}
		ready, err := d.ready(body)
		if errors.Is(err, core.ErrConflict) && d.lookUp() {
			continue
		}
		if err != nil {
			return
		}
		if !ready {
			retry.Sleep(d.ctx, draftRetry)
			continue
		}
		last = time.Now()
		wanted := body
		if d.row.PlatformID == "" && !d.presenter.finds() {
			body = d.first()
		}
		if err = d.call(body); err == nil {
			if shown = body; !sameBody(body, wanted) {
				last = time.Time{} // which follows at once
			}
		} else if d.row.PlatformID == "" && d.unanswered && d.lookUp() {
			last = time.Time{}
		} else if !d.mayShowLater(err) {
			return
		}
	}
}

// ready takes the right to show the draft just now: nothing said before is still on
// its way, for the answer will stand where the draft does, and there is budget to
// spare. Before it is shown for the first time the database notes that this hold does
// so. An error says that it never can be.
func (d *draft) ready(body channels.Body) (ready bool, err error) {
	p, conv := d.presenter, d.row.Conversation
	if !p.quiet(conv.ID) || !p.engine.Safe() || !p.limits.spare(conv.ID, p.rates(conv), time.Now()) {
		return false, nil
	}
	if d.row.Stage != outbox.DraftOpen {
		return true, nil
	}
	if !p.finds() {
		body = channels.Body{} // nobody will look for it
	}
	begun, ready, err := p.ledger.BeginDraft(d.ctx, p.lease.Lease, d.row.Delivery, body)
	if ready {
		d.row.Stage, d.row.PlatformID, d.row.Nonce, d.row.FirstTry = outbox.DraftBegun, begun.PlatformID, begun.Nonce, begun.FirstTry
		if d.ctx.Err() == nil {
			return true, nil
		}
		if begun.PlatformID == "" {
			d.record("")
		}
	}
	p.limits.release(conv.ID, true)
	if errors.Is(err, core.ErrConflict) || err != nil && p.lease.isLost(err) {
		return false, err
	}
	return false, nil // the database may be back soon
}

// call shows body, and has the database know where after the first time.
func (d *draft) call(body channels.Body) error {
	drafter, ok := d.presenter.channel().(channels.Drafter)
	if !ok {
		return channels.ErrNoMessage
	}
	ctx, done := d.guarded()
	defer done()
	id, err := drafter.Draft(ctx, d.row.PlatformID, d.outbound(body))
	d.unanswered = d.unanswered || err != nil && !surelyNot(err)
	switch {
	case d.row.PlatformID != "" || d.unanswered && err != nil:
	case err != nil:
		d.record("")
	default:
		d.record(id)
	}
	return err
}

// outbound is the draft as the channel sends it first. Its nonce is not that of the part which
// takes its place: sent again, that part is another message.
func (d *draft) outbound(body channels.Body) channels.Outbound {
	return d.presenter.outbound(&outbox.Delivery{
		ID: d.row.Delivery, Conversation: d.row.Conversation, Body: body, ReplyTo: d.row.ReplyTo, Nonce: d.row.Nonce, FirstTry: d.row.FirstTry,
	})
}

// lookUp asks the platform what became of a first call that is not known to have ended, once it
// can have no effect any more, and has the database know. known says that this is known now. It is
// looked up while nothing said in its conversation is on its way: then it is known which messages
// are others', and where one is found by what it says, none of them is taken for it.
func (d *draft) lookUp() (known bool) {
	p := d.presenter
	finder, ok := p.channel().(channels.Finder)
	if !ok || !retry.Sleep(d.ctx, lateAfter) {
		return false
	}
	lock := p.queue.lockQuiet(d.row.Conversation.ID, nil)
	for ; lock == nil; lock = p.queue.lockQuiet(d.row.Conversation.ID, nil) {
		if !retry.Sleep(d.ctx, draftRetry) {
			return false
		}
	}
	defer lock.Unlock()
	if !p.engine.Safe() {
		return false
	}
	row, err := p.ledger.ResumeDraft(d.ctx, p.lease.Lease, d.row.Delivery)
	if err != nil {
		return false
	}
	d.row.Nonce, d.row.FirstTry = row.Nonce, row.FirstTry
	ctx, done := d.guarded()
	defer done()
	defer context.AfterFunc(d.ctx, done)() // the answer does not wait for it
	id, found, err := finder.Find(ctx, d.outbound(row.First))
	if err != nil {
		p.log.DebugContext(ctx, "a draft is not found again", "delivery_id", row.Delivery, "error", err)
		return false
	}
	if !found {
		id = ""
	}
	d.row.Stage, d.unanswered = outbox.DraftBegun, false
	d.record(id)
	return d.text != nil || found
}

// guarded is the context of a call: it ends before the leases could.
func (d *draft) guarded() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(d.calls, draftTimeout)
	ctx, release := d.presenter.engine.Guard(ctx)
	return ctx, func() { release(); cancel() }
}

// record writes down what became of the first call: without an id, that nothing is
// shown.
func (d *draft) record(id channels.MessageID) {
	p := d.presenter
	if d.row.PlatformID = id; id == "" {
		d.row.Stage = outbox.DraftOpen
	}
	ctx := context.WithoutCancel(d.ctx)
	for range retry.Doubling(p.ctx, 50*time.Millisecond, 2*time.Second) {
		late, err := p.ledger.Drafted(ctx, p.lease.Lease, d.row.Delivery, id)
		if err == nil {
			if late {
				d.stop()
				p.poll()
			}
			return
		}
		if p.ctx.Err() != nil {
			p.log.WarnContext(ctx, "a draft may be shown that nobody will find", "turn_id", d.row.Turn, "error", err)
			return
		}
	}
}

// surelyNot says that a call which ended so changed nothing, and will not.
func surelyNot(err error) bool {
	_, limited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	return limited || refused || isAnswer(err) || errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrUnauthorized)
}

// mayShowLater says whether the draft may be shown after a call that ended so.
func (d *draft) mayShowLater(err error) bool {
	p := d.presenter
	p.log.DebugContext(d.ctx, "a draft was not shown", "turn_id", d.row.Turn, "error", err)
	limited, isLimited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	switch {
	case isLimited:
		p.limits.pause(d.row.Conversation.ID, limited, retryMin, time.Now())
	case errors.Is(err, channels.ErrNotConnected), refused && !isRefused(err):
		retry.Sleep(d.ctx, retryMin)
	default:
		return false
	}
	return true
}

// retract deletes what is shown, and records the end of the draft's story. A failure
// that may pass is left for the next poll.
func (d *draft) retract() {
	p := d.presenter
	if !p.engine.Safe() {
		return
	}
	log := p.log.With("delivery_id", d.row.Delivery)
	err := channels.ErrGone
	if deleter, ok := p.channel().(channels.Deleter); ok {
		ctx, done := d.guarded()
		err = deleter.Delete(ctx, d.row.Conversation, d.row.PlatformID)
		done()
	}
	outcome := "left"
	switch {
	case err == nil, errors.Is(err, channels.ErrNoMessage): // somebody else may have
		outcome = "taken_back"
	case isRefused(err), errors.Is(err, channels.ErrGone), errors.Is(err, channels.ErrMoved):
	case time.Since(d.row.Since) < retractAtMost:
		log.DebugContext(d.ctx, "a draft stays for now", "error", err)
		return
	}
	ctx := context.WithoutCancel(d.ctx)
	if err := p.ledger.EndDraft(ctx, p.lease.Lease, d.row.Delivery, outcome); err != nil {
		log.DebugContext(ctx, "cannot end a draft", "error", err)
	}
}
