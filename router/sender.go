package router

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/channels"
)

const (
	sendTimeout = time.Minute
	// blockAtMost is how long the head of a conversation is tried before it is
	// given up for dead.
	blockAtMost = 15 * time.Minute
	retryMin    = time.Second
	retryMax    = time.Minute
	// idleSender is how long a conversation's sender waits for more.
	idleSender = 2 * time.Second
)

// never is when a conversation with nothing to send has something to do.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// A sender sends a channel's deliveries under its lease: in order within a
// conversation, conversations independent of each other.
type sender struct {
	line *line
	hold Hold
	lost context.CancelFunc // the lease is gone

	mu      sync.Mutex
	kicked  map[channels.ConversationID]chan struct{} // one a conversation at work
	idle    map[channels.ConversationID]time.Time     // has nothing to do before then
	started bool
	ctx     context.Context // of run
	working sync.WaitGroup
	fails   int // sends in a row that failed for the whole channel
}

func newSender(l *line, hold Hold, lost context.CancelFunc) *sender {
	return &sender{
		line: l, hold: hold, lost: lost,
		kicked: map[channels.ConversationID]chan struct{}{},
		idle:   map[channels.ConversationID]time.Time{},
	}
}

// run sends what was left open, then what it is told of, until ctx ends.
func (s *sender) run(ctx context.Context) {
	s.mu.Lock()
	s.ctx, s.started = ctx, true
	early := make([]channels.ConversationID, 0, len(s.kicked))
	for conv := range s.kicked {
		early = append(early, conv)
	}
	clear(s.kicked)
	s.mu.Unlock()
	for _, conv := range early {
		s.kick(conv)
	}
	for ctx.Err() == nil {
		open, err := s.line.router.Ledger.Open(ctx, s.hold)
		if err == nil {
			for _, conv := range open {
				s.kick(conv)
			}
		} else if s.isLost(err) {
			break
		}
		// Nothing here needs this look again; it is the net under a lost kick.
		sleep(ctx, pollIdle)
	}
	s.mu.Lock()
	s.started = false
	s.mu.Unlock()
	s.working.Wait()
}

// kick says that conv has something to send.
func (s *sender) kick(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch := s.kicked[conv]; ch != nil {
		delete(s.idle, conv) // now, not when it wakes: flush may look before
		select {
		case ch <- struct{}{}:
		default:
		}
		return
	}
	ch := make(chan struct{}, 1)
	s.kicked[conv] = ch
	if s.started && s.ctx.Err() == nil {
		s.working.Go(func() { s.work(s.ctx, conv, ch) })
	}
}

// work sends a conversation's deliveries until there has been nothing for a while.
func (s *sender) work(ctx context.Context, conv channels.ConversationID, kick chan struct{}) {
	for ctx.Err() == nil {
		wait, more := s.next(ctx, conv)
		if wait == 0 && more {
			continue
		}
		pause := orElse(wait, idleSender)
		until := time.Now().Add(pause)
		if !more {
			until = never
		}
		s.rest(conv, until)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-kick:
		case <-timer.C:
			if !more && s.leave(conv, kick) {
				timer.Stop()
				return
			}
		}
		timer.Stop()
		s.wakeUp(conv)
	}
	s.leave(conv, kick)
}

// leave ends a conversation's sender unless somebody just kicked it.
func (s *sender) leave(conv channels.ConversationID, kick chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(kick) > 0 && s.ctx.Err() == nil {
		return false
	}
	delete(s.kicked, conv)
	delete(s.idle, conv)
	s.line.limits.forget(conv, time.Now())
	return true
}

// rest says that conv has nothing to do before then, unless it was just kicked.
func (s *sender) rest(conv channels.ConversationID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kicked[conv]) == 0 {
		s.idle[conv] = until
	}
}

func (s *sender) wakeUp(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, conv)
}

// next handles the conversation's head. more says that there is one; wait, how
// long until it can be looked at again.
func (s *sender) next(ctx context.Context, conv channels.ConversationID) (wait time.Duration, more bool) {
	l := s.line
	if !l.router.Engine.Safe() {
		return time.Second, true
	}
	features := l.channel.Features(channels.Conversation{Channel: l.name, ID: conv})
	if wait := l.limits.take(conv, features.Rates, time.Now()); wait > 0 {
		return wait, true
	}
	d, due, err := l.router.Ledger.Begin(ctx, s.hold, conv)
	if err != nil || d == nil {
		l.limits.giveBack(conv)
	}
	switch {
	case err != nil:
		if !s.isLost(err) && ctx.Err() == nil {
			l.router.Log.ErrorContext(ctx, "cannot take a delivery", "channel", l.name, "conversation_id", conv, "error", err)
		}
		return retryMin, true
	case d == nil && due.IsZero():
		return 0, false
	case d == nil:
		return max(time.Until(due), time.Millisecond), true
	}
	settlement, wait := s.settlement(ctx, d)
	s.settle(ctx, d, settlement)
	if settlement.Conversation {
		s.tellGone(ctx, d)
	}
	return wait, true
}

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

// settle records what became of the part, again and again while the database
// cannot take it: until then the conversation stands still.
func (s *sender) settle(ctx context.Context, d *Delivery, settlement Settlement) {
	l := s.line
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := l.router.Ledger.Settle(context.WithoutCancel(ctx), s.hold, d, settlement)
		if err == nil {
			break
		}
		if s.isLost(err) || ctx.Err() != nil {
			return // the next holder finds it sending, and asks the platform
		}
		l.router.Log.WarnContext(ctx, "a delivery could not be settled, trying again", "channel", l.name, "delivery_id", d.ID, "error", err)
		sleep(ctx, pause)
	}
	if settlement.State != DeliverySent && settlement.State != DeliveryPending {
		l.router.Log.WarnContext(ctx, "delivery not sent", "channel", l.name, "delivery_id", d.ID,
			"state", string(settlement.State), "outcome", settlement.Outcome, "detail", settlement.Detail)
	}
}

// isLost says whether err means that the lease is gone, and ends the holding.
func (s *sender) isLost(err error) bool {
	if errors.Is(err, ErrFenced) {
		s.lost()
		return true
	}
	return false
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

// flush waits until no conversation has anything to do before the end of ctx, which
// has a deadline, and until then at most.
func (s *sender) flush(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	for ctx.Err() == nil && s.busyBefore(deadline) {
		sleep(ctx, 10*time.Millisecond)
	}
}

func (s *sender) busyBefore(deadline time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conv := range s.kicked {
		if until, ok := s.idle[conv]; !ok || until.Before(deadline) {
			return true
		}
	}
	return false
}

// orElse returns d, or other when d is zero.
func orElse(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}
