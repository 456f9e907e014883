package router

import (
	"cmp"
	"context"
	"errors"
	"time"

	"switchboard/channels"
)

// settlement sends the part, or finds out about one of which nobody knows.
func (s *sender) settlement(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	if d.State == DeliveryUnknown {
		return s.line.inquire(ctx, d)
	}
	// A send under way is not broken off by the channel's end: what became of it
	// would be unknown for no need.
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	if d.PlatformID != "" {
		return s.edit(sending, d)
	}
	id, err := s.line.channel.Send(sending, s.line.outbound(d))
	if err == nil {
		s.succeeded()
		return Settlement{State: DeliverySent, PlatformID: id}, 0
	}
	return s.failed(d, err, time.Now())
}

// edit makes the part take the place of what is shown. Where that cannot be, it is
// sent as a message of its own.
func (s *sender) edit(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	anew := func(outcome, detail string) (Settlement, time.Duration) {
		return Settlement{State: DeliveryPending, Outcome: outcome, Detail: detail, Unedit: true, FreeTry: true}, 0
	}
	editor, ok := s.line.channel.(channels.Editor)
	if !ok || len(d.Body.Files) > 0 {
		return anew("no_edit", "")
	}
	err := editor.Edit(ctx, d.Conversation, d.PlatformID, d.Body)
	if err == nil {
		s.succeeded()
		return Settlement{State: DeliverySent, PlatformID: d.PlatformID}, 0
	}
	if errors.Is(err, channels.ErrNoMessage) {
		return anew("message_gone", err.Error())
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary {
		return anew("edit_refused", err.Error())
	}
	settlement, wait := s.failed(d, err, time.Now())
	if settlement.State == DeliveryUnknown {
		now := time.Now()
		settlement = s.again(d, now.Add(retryAfter(d)), err.Error(), now)
		settlement.Outcome = cmp.Or(settlement.Outcome, "edit_again")
	}
	return settlement, wait
}

// outbound is the part as the channel sends it.
func (l *line) outbound(d *Delivery) channels.Outbound {
	return channels.Outbound{
		Conversation: d.Conversation, Body: d.Body, ReplyTo: d.ReplyTo,
		Nonce: d.Nonce, Part: d.Part, Last: d.Last, Open: l.openFile(d.Body),
	}
}

// retryAfter is how long a conversation's head waits for its next try.
func retryAfter(d *Delivery) time.Duration {
	return min(retryMin<<min(max(d.Tries-1, 0), 6), retryMax)
}

// failed says what a send's error means for the part.
func (s *sender) failed(d *Delivery, err error, now time.Time) (Settlement, time.Duration) {
	limits := s.line.limits
	detail := err.Error()
	retry := retryAfter(d)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
		pause := orElse(limited.RetryAfter, retry)
		if limited.Channel {
			limits.pauseAll(now.Add(pause))
			return Settlement{State: DeliveryPending, FreeTry: true, Detail: detail}, 0
		}
		limits.pause(d.Conversation.ID, now.Add(pause))
		return s.again(d, now.Add(pause), detail, now), 0
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary {
		return Settlement{State: DeliveryDead, Outcome: "refused", Detail: detail}, 0
	} else if ok || errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrUnauthorized) {
		limits.pauseAll(now.Add(s.channelFailed()))
		return Settlement{State: DeliveryPending, FreeTry: true, Detail: detail}, 0
	}
	if errors.Is(err, channels.ErrMoved) { // what tells the new ID kicks it there
		return s.again(d, now.Add(retry), detail, now), 0
	}
	if errors.Is(err, channels.ErrGone) {
		return Settlement{State: DeliveryDropped, Outcome: "gone", Detail: detail, Conversation: true}, 0
	}
	if d.Repeated {
		return Settlement{State: DeliveryUnknown, Outcome: "unknown_twice", Detail: detail, Final: true}, 0
	}
	return Settlement{State: DeliveryUnknown, Outcome: "no_answer", Detail: detail}, 0
}

// again puts a part back, unless it has blocked its conversation for too long.
func (s *sender) again(d *Delivery, at time.Time, detail string, now time.Time) Settlement {
	if now.Sub(d.FirstTry) >= blockAtMost {
		return Settlement{State: DeliveryDead, Outcome: "blocked_too_long", Detail: detail}
	}
	return Settlement{State: DeliveryPending, NextAt: at, Detail: detail}
}

func (s *sender) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = 0
}

// channelFailed counts a failure of the whole channel and says how long to pause.
func (s *sender) channelFailed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := min(retryMin<<min(s.fails, 6), retryMax)
	s.fails++
	return pause
}
