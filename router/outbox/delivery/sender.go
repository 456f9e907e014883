package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"switchboard/router/core"
	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/secrets"
)

// idleSender is how long a conversation's goroutine waits for more.
const idleSender = 2 * time.Second

// A sender sends a channel's deliveries under its lease: in order within a
// conversation, conversations independent of each other.
type sender struct {
	*adapter
	lease     *lease
	engine    Engine
	ledger    Deliveries
	limits    *limits
	signs     *signs
	queue     *queue
	transport *transport
	reports   *reports
	buttons   *buttons
	mask      *secrets.Masker
	active    func() // a delivery is settled
	log       *slog.Logger

	polls chan struct{} // ask run to read everything
	named atomic.Bool   // what is unnamed was read since the latest ask
}

func newSender(c *Connection, lease *lease) *sender {
	s := &sender{
		adapter: c.adapter, lease: lease, engine: c.parent.Engine, ledger: c.parent.Store, limits: c.limits,
		signs: newSigns(c.adapter, c.limits), buttons: c.buttons, mask: c.Mask, active: c.parent.Active, log: c.Log, polls: make(chan struct{}, 1),
	}
	s.queue = &queue{limits: c.limits, work: s.work, forgot: s.signs.forget, convs: map[channels.ConversationID]*conversation{}}
	s.transport = &transport{
		outbounds: c.presenter.outbounds, lease: lease, engine: s.engine, drafts: c.parent.Store,
		limits: c.limits, signs: s.signs, queue: s.queue, presenter: c.presenter,
	}
	s.reports = &reports{
		Connections: c.parent, composer: c.Composer, lease: lease, kind: c.Kind, log: c.Log, owed: map[channels.ConversationID]time.Time{},
	}
	return s
}

// run sends what was left open, then what it is notified of, until ctx ends.
func (s *sender) run(ctx context.Context) {
	s.queue.run(ctx)
	for ctx.Err() == nil {
		safe := s.engine.Safe()
		open, err := s.ledger.Open(ctx, s.lease.Lease)
		if err == nil && !s.named.Swap(true) {
			var unnamed []channels.Conversation
			if unnamed, err = s.reports.findUnnamed(ctx); err != nil {
				s.named.Store(false)
			}
			open = append(open, unnamed...)
		}
		if err == nil {
			for _, conv := range open {
				s.queue.wake(conv)
			}
		} else if s.lease.isLost(err) {
			break
		}
		if !safe || err != nil {
			// Until one poll was made while the lease surely held, another engine may have
			// taken it, and with it the connection.
			retry.Sleep(ctx, pollBusy)
			continue
		}
		// Nothing here needs the next poll; it finds what a lost notification was about.
		guarded, done := s.engine.Guard(ctx)
		retry.Await(guarded, s.polls, pollIdle)
		done()
	}
	s.queue.wait()
}

// poll has run read everything that is open or unnamed, and whether the lease still holds.
func (s *sender) poll() {
	s.named.Store(false)
	retry.Signal(s.polls)
}

// surelyHolds asks whether the lease is there, while the guard says that it cannot go
// to somebody else.
func (s *sender) surelyHolds(guarded context.Context) bool {
	if guarded.Err() != nil {
		return false
	}
	_, err := s.ledger.Open(guarded, s.lease.Lease)
	return !s.lease.isLost(err) && err == nil && guarded.Err() == nil
}

// work sends a conversation's deliveries until there has been nothing for a while.
func (s *sender) work(ctx context.Context, c *conversation) {
	for ctx.Err() == nil {
		lock := s.queue.lockOf(c)
		lock.Lock()
		wait, more := s.next(ctx, c.conv, lock)
		lock.Unlock()
		if wait == 0 && more {
			continue
		}
		wait = cmp.Or(wait, idleSender)
		until := never
		if more {
			until = time.Now().Add(wait)
		}
		s.queue.rest(c, until)
		if retry.Await(ctx, c.wake, wait) && !more && s.queue.leave(c, false) {
			return
		}
		s.queue.rest(c, time.Time{})
	}
	s.abort(ctx, s.queue.lockOf(c))
	s.queue.leave(c, true)
}

// next handles the conversation's head, under its lock. more says that there is one;
// wait, how long until the next thing can be done about it.
func (s *sender) next(ctx context.Context, conv channels.Conversation, lock *sendLock) (wait time.Duration, more bool) {
	if d := lock.take(); d != nil {
		if ctx.Err() != nil {
			s.requeue(ctx, d)
			return time.Second, true
		}
		return s.bring(ctx, d)
	}
	if !s.engine.Safe() {
		return time.Second, true
	}
	owes := s.reports.owes(conv.ID)
	if !owes.IsZero() && s.signs.signed(owes) {
		return s.reports.nameLost(ctx, conv.ID), true
	}
	s.queue.setWaits(conv.ID, true)
	wait, decides := s.signs.untilDecided(ctx, conv.ID)
	if wait == 0 && !decides { // to decide is no send
		wait = s.limits.take(conv.ID, s.rates(conv), time.Now())
	}
	if wait > 0 {
		s.queue.wakeNext(conv.ID)
		return wait, true
	}
	s.queue.setWaits(conv.ID, false)
	called := time.Now()
	d, due, err := s.ledger.Begin(ctx, s.lease.Lease, conv)
	if !decides && (err != nil || d == nil) {
		s.queue.release(conv.ID)
		s.queue.wakeNext(conv.ID)
	}
	switch {
	case err != nil:
		s.mayHaveBegun(conv.ID, called, err)
		if !s.lease.isLost(err) && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "cannot take a delivery", "conversation_id", conv.ID, "error", err)
		}
		return retryMin, true
	case s.queue.neverSent(conv.ID, d):
		s.settle(ctx, d, outbox.Settlement{State: outbox.DeliveryPending, Outcome: "never_sent", FreeTry: true})
		return 0, true
	case d == nil && due.IsZero() && !owes.IsZero():
		return max(s.signs.await(ctx, owes), time.Millisecond), true
	case d == nil && due.IsZero():
		return 0, false
	case d == nil:
		return max(time.Until(due), time.Millisecond), true
	case s.signs.leftUnknown(d):
		if d.State == outbox.DeliverySending {
			s.requeue(ctx, d)
		}
		return 0, true // untilDecided says how long
	}
	return s.bring(ctx, d)
}

// mayHaveBegun notes that a call which began then, and failed so, may have begun the next
// part of conv all the same.
func (s *sender) mayHaveBegun(conv channels.ConversationID, called time.Time, err error) {
	if errors.Is(err, core.ErrFenced) || errors.Is(err, core.ErrConflict) || errors.Is(err, core.ErrRefused) {
		return // nothing was written
	}
	s.queue.markUnknown(conv, called)
}

// bring sends a part that was begun, or finds out about it, and records what became
// of it. It returns what next does.
func (s *sender) bring(ctx context.Context, d *outbox.Delivery) (wait time.Duration, more bool) {
	if d.State == outbox.DeliverySending && !s.engine.Safe() { // since it was begun
		s.requeue(ctx, d)
		return time.Second, true
	}
	settlement, wait := s.transport.bring(ctx, d)
	settlement.Unnamed = settlement.Final && !strings.Contains(d.Body.Text, lostText)
	more = s.settle(ctx, d, settlement)
	switch {
	case settlement.Unnamed:
		s.reports.owe(d.Conversation.ID, time.Now())
		more = true
	case settlement.Conversation:
		s.reports.gone(ctx, d)
	case settlement.State == outbox.DeliveryDead:
		s.reports.dead(ctx, d, settlement.Outcome)
	}
	return wait, more
}

// settle records what became of the part, again and again while the database
// cannot take it: until then the conversation stands still. more says that something
// is open there, as far as it is known.
func (s *sender) settle(ctx context.Context, d *outbox.Delivery, settlement outbox.Settlement) (more bool) {
	settlement.Detail = s.mask.Text(settlement.Detail)
	for range retry.Doubling(ctx, 50*time.Millisecond, 2*time.Second) {
		var err error
		more, err = s.ledger.Settle(context.WithoutCancel(ctx), s.lease.Lease, d, settlement)
		if err == nil {
			break
		}
		if s.lease.isLost(err) || ctx.Err() != nil {
			return true // the next holder finds it sending, and asks the platform
		}
		s.log.WarnContext(ctx, "a delivery could not be settled, trying again", "delivery_id", d.ID, "error", err)
	}
	s.active()
	switch {
	case settlement.State == outbox.DeliverySent && len(d.Body.Buttons) > 0:
		s.buttons.answered(ctx, d, cmp.Or(settlement.PlatformID, d.PlatformID))
	case settlement.State != outbox.DeliverySent && settlement.State != outbox.DeliveryPending:
		s.log.WarnContext(ctx, "delivery not sent", "delivery_id", d.ID,
			"state", string(settlement.State), "outcome", settlement.Outcome, "detail", settlement.Detail)
	}
	return more
}

// abort requeues a part that was begun and never sent.
func (s *sender) abort(ctx context.Context, lock *sendLock) {
	lock.Lock()
	defer lock.Unlock()
	if d := lock.take(); d != nil {
		s.requeue(ctx, d)
	}
}

// requeue makes a part pending again that was not sent, and releases the right to send it.
func (s *sender) requeue(ctx context.Context, d *outbox.Delivery) {
	s.limits.release(d.Conversation.ID, false)
	s.settle(ctx, d, outbox.Settlement{State: outbox.DeliveryPending, FreeTry: true})
}
