package outbox

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
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
	line *Connection
	hold Lease
	lost context.CancelFunc // the lease is gone

	mu       sync.Mutex
	ctx      context.Context // of run; nil before it
	convs    map[channels.ConversationID]*conversation
	answered time.Time // when the latest send began that the platform answered
	// latestIll is the delivery that the platform could not take, since it answered one.
	latestIll int64

	looks   chan struct{} // ask run to look at everything
	named   atomic.Bool   // what is unnamed was looked for since the latest ask
	working sync.WaitGroup

	probing sync.Mutex // held while the platform is asked whether it lives
	probes  probes
}

// A conversation is what a sender knows of one. It is forgotten when its work ends.
type conversation struct {
	conv    channels.Conversation
	wake    chan struct{}
	lock    *sendLock
	works   bool       // it has a goroutine, or gets one when the sender starts
	rests   time.Time  // it has nothing to do before then; zero: it may have
	waits   bool       // for its turn, or for a sign that the platform takes messages
	failing *stuckHead // nil: the latest send of its head did not fail
	// unnamed is since when what ended unknown there is to be named to its people; zero: nothing is.
	unnamed time.Time
	// uncertain is since when a part may have been begun by a call whose answer was lost.
	uncertain time.Time
}

func newSender(l *Connection, hold Lease, lost context.CancelFunc) *sender {
	return &sender{line: l, hold: hold, lost: lost, convs: map[channels.ConversationID]*conversation{}, looks: make(chan struct{}, 1)}
}

// of is what is known of a conversation. Called under the lock.
func (s *sender) of(conv channels.ConversationID) *conversation {
	c := s.convs[conv]
	if c == nil {
		c = &conversation{wake: make(chan struct{}, 1), lock: &sendLock{}}
		s.convs[conv] = c
	}
	return c
}

// runs says that conversations get their goroutines. Called under the lock.
func (s *sender) runs() bool { return s.ctx != nil && s.ctx.Err() == nil }

// moved says that a conversation has a new ID: what is on its way under the former
// one is awaited before anything goes out under the new one.
func (s *sender) moved(former, now channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(now).lock = s.of(former).lock
}

// run sends what was left open, then what it is woken for, until ctx ends.
func (s *sender) run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	for _, c := range s.convs {
		if c.works {
			s.startWork(c)
		}
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		safe := s.line.lines.Engine.Safe()
		open, err := s.line.lines.Ledger.Open(ctx, s.hold)
		if err == nil && !s.named.Swap(true) {
			if err = s.findUnnamed(ctx); err != nil {
				s.named.Store(false)
			}
		}
		if err == nil {
			for _, conv := range open {
				s.wake(conv)
			}
		} else if s.isLost(err) {
			break
		}
		if !safe || err != nil {
			// Until one look was made while the lease surely held, another engine may have
			// taken it, and with it the connection.
			retry.Sleep(ctx, lookBusy)
			continue
		}
		// Nothing here needs this look again; it is the net under a lost wake.
		s.pause(ctx)
	}
	s.mu.Lock() // who starts work looks at ctx under it
	s.mu.Unlock()
	s.working.Wait()
}

// pause waits for the next look: until it is asked for, or the leases are uncertain, and
// not for long.
func (s *sender) pause(ctx context.Context) {
	guarded, done := s.line.lines.Engine.Guard(ctx)
	defer done()
	retry.Await(guarded, s.looks, lookIdle)
}

// look asks run to look at everything that is open or unnamed, and whether the lease still holds.
func (s *sender) look() {
	s.named.Store(false)
	retry.Signal(s.looks)
}

// wake says that conv has something to send.
func (s *sender) wake(conv channels.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(conv.ID)
	if c.works {
		c.look()
		return
	}
	c.conv, c.works = conv, true
	s.startWork(c)
}

// look wakes a conversation that is at work. Called under the sender's lock.
func (c *conversation) look() {
	c.rests = time.Time{} // now, not when it wakes: flush may look before
	retry.Signal(c.wake)
}

// startWork gives a conversation its goroutine. Called under the lock.
func (s *sender) startWork(c *conversation) {
	if s.runs() {
		s.working.Go(func() { s.work(s.ctx, c) })
	}
}

// work sends a conversation's deliveries until there has been nothing for a while.
func (s *sender) work(ctx context.Context, c *conversation) {
	for ctx.Err() == nil {
		lock := s.lockOf(c)
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
		s.rest(c, until)
		if retry.Await(ctx, c.wake, wait) && !more && s.leave(c) {
			return
		}
		s.rest(c, time.Time{})
	}
	s.handBack(s.lockOf(c))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(c)
}

// lockOf is the present lock of a conversation.
func (s *sender) lockOf(c *conversation) *sendLock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.lock
}

// leave ends a conversation's work unless it was just woken, or is about to be.
func (s *sender) leave(c *conversation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.rests.IsZero() || !c.lock.unused() {
		return false
	}
	s.forget(c)
	return true
}

// forget drops what is known of a conversation. Called under the lock.
func (s *sender) forget(c *conversation) {
	delete(s.convs, c.conv.ID)
	s.line.limits.forget(c.conv.ID, time.Now())
}

// rest notes that there is nothing to do before then, unless the conversation was
// just woken.
func (s *sender) rest(c *conversation, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.wake) == 0 || until.IsZero() {
		c.rests = until
	}
}

// next handles the conversation's head, under its lock. more says that there is one;
// wait, how long until it can be looked at again.
func (s *sender) next(ctx context.Context, conv channels.Conversation, lock *sendLock) (wait time.Duration, more bool) {
	l := s.line
	if d := lock.take(); d != nil {
		if ctx.Err() != nil {
			s.unsent(ctx, d)
			return time.Second, true
		}
		return s.bring(ctx, d)
	}
	if !l.lines.Engine.Safe() {
		return time.Second, true
	}
	owes := s.owes(conv.ID)
	if !owes.IsZero() && s.signed(owes) {
		return s.nameLost(ctx, conv.ID), true
	}
	s.waitsForTurn(conv.ID, true)
	wait, decides := s.patience(ctx, conv.ID)
	if wait == 0 && !decides { // to decide is no send
		wait = l.limits.take(conv.ID, l.channel().Features(conv).Rates, time.Now())
	}
	if wait > 0 {
		s.wakeNext(conv.ID)
		return wait, true
	}
	s.waitsForTurn(conv.ID, false)
	called := time.Now()
	d, due, err := l.lines.Ledger.Begin(ctx, s.hold, conv)
	if !decides && (err != nil || d == nil) {
		if l.limits.giveBack(conv.ID) {
			s.wakeOthers(conv.ID)
		}
		s.wakeNext(conv.ID)
	}
	switch {
	case err != nil:
		s.markUncertain(conv.ID, called, err)
		if !s.isLost(err) && ctx.Err() == nil {
			l.lines.Log.ErrorContext(ctx, "cannot take a delivery", "channel", l.Name, "conversation_id", conv.ID, "error", err)
		}
		return retryMin, true
	case s.neverSent(conv.ID, d):
		s.settle(ctx, d, Settlement{State: DeliveryPending, Outcome: "never_sent", FreeTry: true})
		return 0, true
	case d == nil && due.IsZero() && !owes.IsZero():
		return max(s.awaitSign(ctx, owes), time.Millisecond), true
	case d == nil && due.IsZero():
		return 0, false
	case d == nil:
		return max(time.Until(due), time.Millisecond), true
	case s.unsure(d):
		if d.State == DeliverySending {
			s.unsent(ctx, d)
		}
		return 0, true // patience says how long
	}
	return s.bring(ctx, d)
}

// bring sends a part that was begun, or finds out about it, and records what became
// of it. It returns what next does.
func (s *sender) bring(ctx context.Context, d *Delivery) (wait time.Duration, more bool) {
	if d.State == DeliverySending && !s.line.lines.Engine.Safe() { // since it was begun
		s.unsent(ctx, d)
		return time.Second, true
	}
	settlement, wait := s.settlement(ctx, d)
	settlement.Unnamed = settlement.Final && !strings.Contains(d.Body.Text, lostText)
	more = s.settle(ctx, d, settlement)
	switch {
	case settlement.Unnamed:
		s.owe(d.Conversation.ID, time.Now())
		more = true
	case settlement.Conversation:
		s.notifyGone(ctx, d)
	case settlement.State == DeliveryDead:
		s.notifyDead(ctx, d, settlement.Outcome)
		s.deadAlert(ctx, d, settlement.Outcome)
	}
	return wait, more
}

// settle records what became of the part, again and again while the database
// cannot take it: until then the conversation stands still. more says that something
// is open there, as far as it is known.
func (s *sender) settle(ctx context.Context, d *Delivery, settlement Settlement) (more bool) {
	l := s.line
	settlement.Detail = l.lines.Mask.Text(settlement.Detail)
	for range retry.Doubling(ctx, 50*time.Millisecond, 2*time.Second) {
		var err error
		more, err = l.lines.Ledger.Settle(context.WithoutCancel(ctx), s.hold, d, settlement)
		if err == nil {
			break
		}
		if s.isLost(err) || ctx.Err() != nil {
			return true // the next holder finds it sending, and asks the platform
		}
		l.lines.Log.WarnContext(ctx, "a delivery could not be settled, trying again", "channel", l.Name, "delivery_id", d.ID, "error", err)
	}
	if settlement.State == DeliverySent && len(d.Body.Buttons) > 0 {
		l.answered(ctx, d, cmp.Or(settlement.PlatformID, d.PlatformID))
	}
	if settlement.State != DeliverySent && settlement.State != DeliveryPending {
		l.lines.Log.WarnContext(ctx, "delivery not sent", "channel", l.Name, "delivery_id", d.ID,
			"state", string(settlement.State), "outcome", settlement.Outcome, "detail", settlement.Detail)
	}
	return more
}

// isLost says whether err means that the lease is gone, and ends the holding.
func (s *sender) isLost(err error) bool {
	if errors.Is(err, core.ErrFenced) {
		s.lost()
		return true
	}
	return false
}

// surelyHolds looks whether the lease is there, while the guard says that it cannot go
// to somebody else.
func (s *sender) surelyHolds(guarded context.Context) bool {
	if guarded.Err() != nil {
		return false
	}
	_, err := s.line.lines.Ledger.Open(guarded, s.hold)
	return !s.isLost(err) && err == nil && guarded.Err() == nil
}

// flush waits until no conversation has anything to do before the end of ctx, which
// has a deadline, and until then at most.
func (s *sender) flush(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	for ctx.Err() == nil && s.busyBefore(deadline) {
		retry.Sleep(ctx, 10*time.Millisecond)
	}
}

// quiet says that there is nothing to send in conv.
func (s *sender) quiet(conv channels.ConversationID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs() && s.restsNow(conv)
}

// restsNow says that nobody is at work in conv, or knows of anything to do there. Called
// under the lock.
func (s *sender) restsNow(conv channels.ConversationID) bool {
	c := s.convs[conv]
	return c == nil || !c.works || c.rests.Equal(never)
}

func (s *sender) busyBefore(deadline time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.convs {
		if c.works && c.rests.Before(deadline) {
			return true
		}
	}
	return false
}
