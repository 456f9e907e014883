package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/words"
)

// settlement sends the part, or finds out about one of which nobody knows.
func (s *sender) settlement(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	looks := d.State == DeliverySending && s.line.tooOld(d)
	if looks && s.line.limits.giveBack(d.Conversation.ID) {
		s.wakeOthers(d.Conversation.ID)
	}
	if d.State == DeliveryUnknown || looks {
		settlement, wait := s.inquire(ctx, d)
		if settlement.State != DeliveryUnknown || settlement.Final {
			s.decided(d.Conversation.ID, settlement.Repeated)
		}
		return settlement, wait
	}
	// A send under way is not broken off by the channel's end: what became of it
	// would be unknown for no need. It is by a lease that may be somebody else's soon.
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	sending, done := s.line.lines.Engine.Guard(sending)
	defer done()
	if !s.line.presenter.takeOver(d.ID) && d.PlatformID != "" {
		if err := s.abandon(ctx, d); err != nil {
			return notAbandoned(err)
		}
	}
	if d.PlatformID != "" {
		return s.edit(sending, d)
	}
	began := time.Now()
	id, err := s.line.channel().Send(sending, s.outbound(d))
	if isAnswer(err) {
		s.noteAnswer(d, began)
	}
	if err == nil {
		return Settlement{State: DeliverySent, PlatformID: id}, 0
	}
	now := time.Now()
	settlement, wait := s.failed(sending, d, err, began, now)
	switch {
	case settlement.Final:
		s.decided(d.Conversation.ID, false)
	case settlement.State == DeliveryUnknown && settlement.Outcome != brokenOff:
		s.noteUncertain(d, now)
	}
	return settlement, wait
}

// brokenOff is the outcome of a send that we ended ourselves, because the channel's
// lease could no longer be counted on.
const brokenOff = "lease_in_doubt"

// isAnswer says that what came back from a send or an edit shows that the platform does
// its work, even if it refused this one.
func isAnswer(err error) bool {
	refused, ok := errors.AsType[*channels.RefusedError](err)
	return err == nil || ok && !refused.Temporary ||
		errors.Is(err, channels.ErrGone) || errors.Is(err, channels.ErrMoved) || errors.Is(err, channels.ErrNoMessage)
}

// abandon leaves behind what is shown in the part's place, to be taken back, because a call about it
// broke off and may yet change it, or it cannot be edited: the part is sent again as a message of its own.
func (s *sender) abandon(ctx context.Context, d *Delivery) error {
	if err := s.line.lines.Ledger.Abandon(context.WithoutCancel(ctx), s.hold, d.ID); err != nil {
		return err
	}
	d.PlatformID = ""
	s.line.presenter.look()
	return nil
}

// notAbandoned puts back a part that cannot leave behind what is shown: the ledger does not say so.
func notAbandoned(err error) (Settlement, time.Duration) {
	return Settlement{State: DeliveryPending, FreeTry: true, NextAt: time.Now().Add(retryMin), Detail: err.Error()}, retryMin
}

// edit makes the part take the place of what is shown. Where that cannot be, it is
// sent as a message of its own, and what is shown, which may say the same, is taken back.
func (s *sender) edit(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	anew := func(outcome, detail string) (Settlement, time.Duration) {
		if err := s.abandon(ctx, d); err != nil {
			return notAbandoned(err)
		}
		return Settlement{State: DeliveryPending, Outcome: outcome, Detail: detail, FreeTry: true}, 0
	}
	editor, ok := s.line.channel().(channels.Editor)
	if !ok || len(d.Body.Files) > 0 {
		return anew("no_edit", "")
	}
	began := time.Now()
	err := editor.Edit(ctx, d.Conversation, d.PlatformID, s.line.timely(d))
	if isAnswer(err) {
		s.noteAnswer(d, began)
	}
	if err == nil {
		return Settlement{State: DeliverySent, PlatformID: d.PlatformID}, 0
	}
	if errors.Is(err, channels.ErrNoMessage) {
		return Settlement{State: DeliveryPending, Outcome: "message_gone", Detail: err.Error(), Unedit: true, FreeTry: true}, 0
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary {
		return anew("edit_refused", err.Error())
	}
	now := time.Now()
	settlement, wait := s.failed(ctx, d, err, began, now)
	if settlement.State == DeliveryUnknown { // made again, it changes nothing: it failed like one that surely did
		if settlement.Outcome == brokenOff {
			settlement = s.again(d, now.Add(retryAfter(d)), err.Error(), now)
		} else {
			settlement, wait = s.ill(d, err.Error(), began, now)
		}
		settlement.Outcome = cmp.Or(settlement.Outcome, "edit_again")
	}
	return settlement, wait
}

// outbound is the part as the channel sends it, with a place for what it notes.
func (s *sender) outbound(d *Delivery) channels.Outbound {
	out := s.line.outbound(d)
	out.Note = func(ctx context.Context, noted string) error { return s.line.lines.Ledger.Note(ctx, s.hold, d, noted) }
	return out
}

// outbound is the part as it is looked for.
func (l *Connection) outbound(d *Delivery) channels.Outbound {
	return channels.Outbound{
		Conversation: d.Conversation, Body: l.timely(d), ReplyTo: d.ReplyTo,
		Nonce: d.Nonce, Noted: d.Noted, FirstTry: d.FirstTry, Part: d.Part, Last: d.Last, Open: l.openFile(d.Body),
		Taken: func(ctx context.Context, id channels.MessageID) (bool, error) {
			return l.lines.Ledger.Taken(ctx, d, id)
		},
	}
}

// retryAfter is how long a conversation's head waits for its next try.
func retryAfter(d *Delivery) time.Duration {
	return retry.Pause(d.Tries-1, retryMin, retryMax)
}

// failed says what the error of a send that began then means for the part. sending is
// the context that it had.
func (s *sender) failed(sending context.Context, d *Delivery, err error, began, now time.Time) (Settlement, time.Duration) {
	limits := s.line.limits
	detail := err.Error()
	retry := retryAfter(d)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
		pause := cmp.Or(limited.RetryAfter, retry)
		if limited.Channel {
			limits.pauseAll(now.Add(pause))
			return Settlement{State: DeliveryPending, FreeTry: true, Detail: detail}, 0
		}
		limits.pause(d.Conversation.ID, now.Add(pause))
		return s.again(d, now.Add(pause), detail, now), 0
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary {
		return Settlement{State: DeliveryDead, Outcome: "refused", Detail: detail}, 0
	} else if ok {
		return s.ill(d, detail, began, now)
	} else if errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrUnauthorized) {
		at := s.pauseChannel(d, began, now)
		return Settlement{State: DeliveryPending, FreeTry: true, NextAt: at, Detail: detail}, max(at.Sub(now), 0)
	}
	if errors.Is(err, channels.ErrMoved) { // what tells the new ID wakes it there
		return s.again(d, now.Add(retry), detail, now), 0
	}
	if errors.Is(err, channels.ErrGone) {
		return Settlement{State: DeliveryDropped, Outcome: "gone", Detail: detail, Conversation: true}, 0
	}
	unsafe := errors.Is(context.Cause(sending), tools.ErrUnsafe)
	if !unsafe {
		s.pauseChannel(d, began, now)
	}
	if d.Repeated {
		return Settlement{State: DeliveryUnknown, Outcome: "unknown_twice", Detail: detail, Final: true}, 0
	}
	if unsafe { // the platform is well, for all that is known
		return Settlement{State: DeliveryUnknown, Outcome: brokenOff, Detail: detail}, 0
	}
	return Settlement{State: DeliveryUnknown, Outcome: "no_answer", Detail: detail}, 0
}

// ill says what it means for the part that the platform could not take it. One that
// always fails must neither hold up the others nor stay for ever.
func (s *sender) ill(d *Delivery, detail string, began, now time.Time) (Settlement, time.Duration) {
	whose, pause := s.blame(d, now)
	at := now.Add(pause)
	if whose == faultChannel {
		at = s.pauseChannel(d, began, now)
	} else if s.line.limits.noAnswer() {
		s.wakeOthers(d.Conversation.ID)
	}
	if whose == faultOwn {
		return s.again(d, at, detail, now), 0
	}
	return Settlement{State: DeliveryPending, FreeTry: true, NextAt: at, Detail: detail}, max(at.Sub(now), 0)
}

// again puts a part back, unless it has blocked its conversation for too long.
func (s *sender) again(d *Delivery, at time.Time, detail string, now time.Time) Settlement {
	if now.Sub(d.FirstTry) >= blockAtMost {
		return Settlement{State: DeliveryDead, Outcome: "blocked_too_long", Detail: detail}
	}
	return Settlement{State: DeliveryPending, NextAt: at, Detail: detail}
}

// timely is what is sent of a part: one that was written long before it could be sent for
// the first time says so. The row keeps it as it was written.
func (l *Connection) timely(d *Delivery) channels.Body {
	late := d.FirstTry.Sub(d.Written)
	if d.Written.IsZero() || d.FirstTry.IsZero() || late <= l.lines.StaleAfter() {
		return d.Body
	}
	features := l.channel().Features(d.Conversation)
	for _, mark := range []string{"(" + words.Span(late) + " late) ", lateMark} {
		if features.MaxText <= 0 || features.Len(d.Body.Text)+features.Len(mark) <= features.MaxText {
			return l.marked(d.Body, mark, "")
		}
	}
	return d.Body // it is marked as repeated, and full
}

// lateMark is short enough to fit wherever the mark of a repeat would.
const lateMark = "(late) "
