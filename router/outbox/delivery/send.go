package delivery

import (
	"cmp"
	"context"
	"errors"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/outbox"
)

const (
	sendTimeout = time.Minute
	// blockAtMost is how long the head of a conversation is tried before it is
	// given up for dead.
	blockAtMost = 15 * time.Minute
	retryMin    = time.Second
	retryMax    = time.Minute
)

// A transport brings parts to the platform under the channel's lease, and says what each answer means
// for the part and for the channel.
type transport struct {
	outbounds
	lease     *lease
	engine    Engine
	drafts    Drafts
	limits    *limits
	signs     *signs
	queue     *queue
	presenter *presenter
}

// bring sends the part, or finds out about one of which nobody knows. wait is how long its conversation
// waits then.
func (t *transport) bring(ctx context.Context, d *outbox.Delivery) (settlement outbox.Settlement, wait time.Duration) {
	old := d.State == outbox.DeliverySending && t.tooOld(d)
	if old {
		t.queue.release(d.Conversation.ID)
	}
	if d.State == outbox.DeliveryUnknown || old {
		settlement, wait := t.inquire(ctx, d)
		if settlement.State != outbox.DeliveryUnknown || settlement.Final {
			t.signs.decide(d.Conversation.ID, settlement.Repeated)
		}
		return settlement, wait
	}
	// A send under way is not broken off by the channel's end: what became of it
	// would be unknown for no need. It is by a lease that may be somebody else's soon.
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	sending, done := t.engine.Guard(sending)
	defer done()
	if !t.presenter.takeOver(d.ID) && d.PlatformID != "" {
		if err := t.abandon(ctx, d); err != nil {
			return freeTry(time.Now().Add(retryMin), err.Error())
		}
	}
	if d.PlatformID != "" {
		return t.edit(sending, d)
	}
	began := time.Now()
	out := t.outbound(d)
	out.Note = func(ctx context.Context, noted string) error { return t.ledger.Note(ctx, t.lease.Lease, d, noted) }
	id, err := t.channel().Send(sending, out)
	t.follow(d, err, began)
	if err == nil {
		return outbox.Settlement{State: outbox.DeliverySent, PlatformID: id}, 0
	}
	now := time.Now()
	settlement, wait = t.failed(sending, d, err, began, now)
	switch {
	case settlement.Final:
		t.signs.decide(d.Conversation.ID, false)
	case settlement.State == outbox.DeliveryUnknown && settlement.Outcome != brokenOff:
		t.signs.noteUnknown(d, now)
	}
	return settlement, wait
}

// brokenOff is the outcome of a send that we ended ourselves, because the channel's
// lease could no longer be counted on.
const brokenOff = "lease_in_doubt"

// isRefused says that the platform refused something for good.
func isRefused(err error) bool {
	refused, ok := errors.AsType[*channels.RefusedError](err)
	return ok && !refused.Temporary
}

// isAnswer says that what came back from a send or an edit shows that the platform does
// its work, even if it refused this one.
func isAnswer(err error) bool {
	return err == nil || isRefused(err) ||
		errors.Is(err, channels.ErrGone) || errors.Is(err, channels.ErrMoved) || errors.Is(err, channels.ErrNoMessage)
}

// follow notes whether a send of d which began then ended with an answer. What waits for one goes on.
func (t *transport) follow(d *outbox.Delivery, err error, began time.Time) {
	if !isAnswer(err) {
		return
	}
	t.signs.took(d, began)
	if t.limits.answered(began) {
		t.queue.wakeOthers(d.Conversation.ID)
	}
}

// abandon leaves behind what is shown in the part's place, to be retracted, because a call about it
// broke off and may yet change it, or it cannot be edited: the part is sent again as a message of its own.
func (t *transport) abandon(ctx context.Context, d *outbox.Delivery) error {
	if err := t.drafts.Abandon(context.WithoutCancel(ctx), t.lease.Lease, d.ID); err != nil {
		return err
	}
	d.PlatformID = ""
	t.presenter.poll()
	return nil
}

// edit makes the part take the place of what is shown. Where that cannot be, it is
// sent as a message of its own, and what is shown, which may say the same, is retracted.
func (t *transport) edit(ctx context.Context, d *outbox.Delivery) (outbox.Settlement, time.Duration) {
	send := func(outcome, detail string) (outbox.Settlement, time.Duration) {
		if err := t.abandon(ctx, d); err != nil {
			return freeTry(time.Now().Add(retryMin), err.Error())
		}
		return outbox.Settlement{State: outbox.DeliveryPending, Outcome: outcome, Detail: detail, FreeTry: true}, 0
	}
	editor, ok := t.channel().(channels.Editor)
	if !ok || len(d.Body.Files) > 0 {
		return send("no_edit", "")
	}
	began := time.Now()
	err := editor.Edit(ctx, d.Conversation, d.PlatformID, t.timely(d))
	t.follow(d, err, began)
	switch {
	case err == nil:
		return outbox.Settlement{State: outbox.DeliverySent, PlatformID: d.PlatformID}, 0
	case errors.Is(err, channels.ErrNoMessage):
		return outbox.Settlement{State: outbox.DeliveryPending, Outcome: "message_gone", Detail: err.Error(), Unedit: true, FreeTry: true}, 0
	case isRefused(err):
		return send("edit_refused", err.Error())
	}
	now := time.Now()
	settlement, wait := t.failed(ctx, d, err, began, now)
	if settlement.State == outbox.DeliveryUnknown { // made again, it changes nothing: it failed like one that surely did
		if settlement.Outcome == brokenOff {
			settlement = again(d, now.Add(retryAfter(d)), err.Error(), now)
		} else {
			settlement, wait = t.notTaken(d, err.Error(), began, now)
		}
		settlement.Outcome = cmp.Or(settlement.Outcome, "edit_again")
	}
	return settlement, wait
}

// retryAfter is how long a conversation's head waits for its next try.
func retryAfter(d *outbox.Delivery) time.Duration {
	return retry.Pause(d.Tries-1, retryMin, retryMax)
}

// failed says what the error of a send that began then means for the part. sending is
// the context that it had.
func (t *transport) failed(sending context.Context, d *outbox.Delivery, err error, began, now time.Time) (outbox.Settlement, time.Duration) {
	detail := err.Error()
	limited, isLimited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	switch {
	case isLimited:
		at := t.limits.pause(d.Conversation.ID, limited, retryAfter(d), now)
		if limited.Channel {
			return outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true, Detail: detail}, 0
		}
		return again(d, at, detail, now), 0
	case isRefused(err):
		return outbox.Settlement{State: outbox.DeliveryDead, Outcome: "refused", Detail: detail}, 0
	case refused:
		return t.notTaken(d, detail, began, now)
	case errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrUnauthorized):
		return freeTry(t.pauseChannel(d, began, now), detail)
	case errors.Is(err, channels.ErrMoved): // what tells the new ID wakes it there
		return again(d, now.Add(retryAfter(d)), detail, now), 0
	case errors.Is(err, channels.ErrGone):
		return outbox.Settlement{State: outbox.DeliveryDropped, Outcome: "gone", Detail: detail, Conversation: true}, 0
	}
	unsafe := errors.Is(context.Cause(sending), tools.ErrUnsafe)
	if !unsafe { // otherwise the platform is well, for all that is known
		t.pauseChannel(d, began, now)
	}
	unknown := outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "no_answer", Detail: detail}
	switch {
	case d.Repeated:
		unknown.Outcome, unknown.Final = "unknown_twice", true
	case unsafe:
		unknown.Outcome = brokenOff
	}
	return unknown, 0
}

// notTaken says what it means for the part that the platform could not take it. One that
// always fails must neither hold up the others nor stay for ever.
func (t *transport) notTaken(d *outbox.Delivery, detail string, began, now time.Time) (outbox.Settlement, time.Duration) {
	why, pause := t.signs.causeOf(d, now)
	at := now.Add(pause)
	if why == causeChannel {
		at = t.pauseChannel(d, began, now)
	} else if t.limits.noAnswer() {
		t.queue.wakeOthers(d.Conversation.ID)
	}
	if why == causePart {
		return again(d, at, detail, now), 0
	}
	return freeTry(at, detail)
}

// pauseChannel notes that a send of d which began then failed for the whole channel,
// and says when d may be tried again. That is after everybody else: if d alone is at
// fault, the others show it.
func (t *transport) pauseChannel(d *outbox.Delivery, began, now time.Time) time.Time {
	until, news := t.limits.failed(began, now)
	if news {
		t.queue.wakeOthers(d.Conversation.ID)
	}
	return until.Add(max(until.Sub(now), 0) / 4)
}

// freeTry requeues a part until then; the try does not count, and its conversation waits.
func freeTry(at time.Time, detail string) (outbox.Settlement, time.Duration) {
	return outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true, NextAt: at, Detail: detail}, max(time.Until(at), 0)
}

// again requeues a part, unless it has blocked its conversation for too long.
func again(d *outbox.Delivery, at time.Time, detail string, now time.Time) outbox.Settlement {
	if now.Sub(d.FirstTry) >= blockAtMost {
		return outbox.Settlement{State: outbox.DeliveryDead, Outcome: "blocked_too_long", Detail: detail}
	}
	return outbox.Settlement{State: outbox.DeliveryPending, NextAt: at, Detail: detail}
}

// outbounds are parts as a channel sends them.
type outbounds struct {
	*adapter
	composer   *outbox.Composer
	ledger     Deliveries
	staleAfter func() time.Duration
}

// outbound is the part as the channel sends it or is asked for it.
func (o *outbounds) outbound(d *outbox.Delivery) channels.Outbound {
	return channels.Outbound{
		Conversation: d.Conversation, Body: o.timely(d), ReplyTo: d.ReplyTo,
		Nonce: d.Nonce, Noted: d.Noted, FirstTry: d.FirstTry, Part: d.Part, Last: d.Last, Open: o.composer.OpenFile(d.Body),
		Taken: func(ctx context.Context, id channels.MessageID) (bool, error) {
			return o.ledger.Taken(ctx, d, id)
		},
	}
}

// lateMark is short enough to fit wherever the mark of a repeat would.
const lateMark = "(late) "

// timely is what is sent of a part: one that was written long before it could be sent for
// the first time says so. The row keeps it as it was written.
func (o *outbounds) timely(d *outbox.Delivery) channels.Body {
	late := d.FirstTry.Sub(d.Written)
	if d.Written.IsZero() || d.FirstTry.IsZero() || late <= o.staleAfter() {
		return d.Body
	}
	features := o.channel().Features(d.Conversation)
	for _, mark := range []string{"(" + words.Span(late) + " late) ", lateMark} {
		if features.MaxText <= 0 || features.Len(d.Body.Text)+features.Len(mark) <= features.MaxText {
			return o.composer.Marked(d.Body, mark, "")
		}
	}
	return d.Body // it is marked as repeated, and full
}
