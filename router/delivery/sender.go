package delivery

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/retry"
	"switchboard/router/ledger"
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
	line *Line
	hold ledger.Hold
	lost context.CancelFunc // the lease is gone

	mu      sync.Mutex
	active  map[channels.ConversationID]*atWork   // one a conversation at work
	idle    map[channels.ConversationID]time.Time // has nothing to do before then
	gates   map[channels.ConversationID]*gate     // one a conversation at work, or that moved
	started bool
	looks   chan struct{}   // ask run to look at everything
	ctx     context.Context // of run
	working sync.WaitGroup
	// failing is forgotten with the lease: a doubt that was left behind is decided at once.
	failing  map[channels.ConversationID]*stuckHead
	answered time.Time                        // when the latest send began that the platform answered
	waiting  map[channels.ConversationID]bool // for their turn
	// uncertain is since when a part may have been begun by a call whose answer was lost.
	uncertain map[channels.ConversationID]time.Time
	latestIll int64 // the delivery that the platform could not take, since it answered one

	probing chan struct{} // its one place is taken while the platform is asked whether it lives
	probed  time.Time     // when it was, the latest
	alive   bool          // and what it said
}

// atWork is a conversation that has a goroutine, or gets one when the sender starts.
type atWork struct {
	conv channels.Conversation
	wake chan struct{}
}

func newSender(l *Line, hold ledger.Hold, lost context.CancelFunc) *sender {
	return &sender{
		line: l, hold: hold, lost: lost,
		active:  map[channels.ConversationID]*atWork{},
		idle:    map[channels.ConversationID]time.Time{},
		gates:   map[channels.ConversationID]*gate{},
		failing: map[channels.ConversationID]*stuckHead{},
		waiting: map[channels.ConversationID]bool{}, uncertain: map[channels.ConversationID]time.Time{}, probing: make(chan struct{}, 1), looks: make(chan struct{}, 1),
	}
}

func (s *sender) gate(conv channels.ConversationID) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateOf(conv)
}

// gateOf is gate under the lock.
func (s *sender) gateOf(conv channels.ConversationID) *gate {
	g := s.gates[conv]
	if g == nil {
		g = newGate()
		s.gates[conv] = g
	}
	return g
}

// moved says that a conversation has a new ID: what is on its way under the former
// one is awaited before anything goes out under the new one.
func (s *sender) moved(former, now channels.ConversationID) {
	g := s.gate(former)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates[now] = g
}

// run sends what was left open, then what it is told of, until ctx ends.
func (s *sender) run(ctx context.Context) {
	s.mu.Lock()
	s.ctx, s.started = ctx, true
	for _, w := range s.active {
		s.startWork(w)
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		safe := s.line.lines.Engine.Safe()
		open, err := s.line.lines.Ledger.Open(ctx, s.hold)
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
		s.rest(ctx)
	}
	s.mu.Lock()
	s.started = false
	s.mu.Unlock()
	s.working.Wait()
}

// rest waits for the next look: until it is asked for, or the leases are in doubt, and
// not for long.
func (s *sender) rest(ctx context.Context) {
	guarded, done := s.line.lines.Engine.Guard(ctx)
	defer done()
	retry.Await(guarded, s.looks, lookIdle)
}

// look asks run to look at everything that is open, and whether the lease still holds.
func (s *sender) look() { signal(s.looks) }

// wake says that conv has something to send.
func (s *sender) wake(conv channels.Conversation) {
	if s.wakeIfActive(conv.ID) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[conv.ID] == nil {
		w := &atWork{conv: conv, wake: make(chan struct{}, 1)}
		s.active[conv.ID] = w
		s.startWork(w)
	}
}

// wakeIfActive is wake for a conversation that is at work; false: it is not.
func (s *sender) wakeIfActive(conv channels.ConversationID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.active[conv]
	if w == nil {
		return false
	}
	delete(s.idle, conv) // now, not when it wakes: flush may look before
	signal(w.wake)
	return true
}

// startWork gives a conversation its goroutine. Called under the lock.
func (s *sender) startWork(w *atWork) {
	if s.started && s.ctx.Err() == nil {
		s.working.Go(func() { s.work(s.ctx, w.conv, w.wake) })
	}
}

// work sends a conversation's deliveries until there has been nothing for a while.
func (s *sender) work(ctx context.Context, place channels.Conversation, wake chan struct{}) {
	conv := place.ID
	for ctx.Err() == nil {
		g := s.gate(conv)
		g.enter()
		wait, more := s.next(ctx, place, g)
		g.leave()
		if wait == 0 && more {
			continue
		}
		pause := cmp.Or(wait, idleSender)
		until := time.Now().Add(pause)
		if !more {
			until = never
		}
		s.resting(conv, until)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
			if !more && s.leave(conv, wake) {
				timer.Stop()
				return
			}
		}
		timer.Stop()
		s.wakeUp(conv)
	}
	s.handBack(s.gate(conv))
	s.leave(conv, wake)
}

// leave ends a conversation's sender unless somebody just woke it, or is about to.
func (s *sender) leave(conv channels.ConversationID, wake chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil && (len(wake) > 0 || !s.gateOf(conv).unused()) {
		return false
	}
	delete(s.active, conv)
	delete(s.idle, conv)
	delete(s.gates, conv)
	delete(s.failing, conv)
	delete(s.waiting, conv)
	delete(s.uncertain, conv)
	s.line.limits.forget(conv, time.Now())
	return true
}

// resting says that conv has nothing to do before then, unless it was just woken.
func (s *sender) resting(conv channels.ConversationID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.active[conv]; w == nil || len(w.wake) == 0 {
		s.idle[conv] = until
	}
}

func (s *sender) wakeUp(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, conv)
}

// next handles the conversation's head, inside its gate. more says that there is one;
// wait, how long until it can be looked at again.
func (s *sender) next(ctx context.Context, place channels.Conversation, g *gate) (wait time.Duration, more bool) {
	l, conv := s.line, place.ID
	if d := g.take(); d != nil {
		if ctx.Err() != nil {
			s.unsent(ctx, d)
			return time.Second, true
		}
		return s.bring(ctx, d)
	}
	if !l.lines.Engine.Safe() {
		return time.Second, true
	}
	s.waitsForTurn(conv, true)
	wait, doubt := s.patience(ctx, conv)
	if !doubt { // to decide about one is no send
		wait = l.limits.take(conv, l.channel.Features(place).Rates, time.Now())
	}
	if wait > 0 {
		s.wakeNext(conv)
		return wait, true
	}
	s.waitsForTurn(conv, false)
	called := time.Now()
	d, due, err := l.lines.Ledger.Begin(ctx, s.hold, place)
	if !doubt && (err != nil || d == nil) {
		if l.limits.giveBack(conv) {
			s.wakeOthers(conv)
		}
		s.wakeNext(conv)
	}
	switch {
	case err != nil:
		s.markUncertain(conv, called, err)
		if !s.isLost(err) && ctx.Err() == nil {
			l.lines.Log.ErrorContext(ctx, "cannot take a delivery", "channel", l.Name, "conversation_id", conv, "error", err)
		}
		return retryMin, true
	case s.neverSent(conv, d):
		s.settle(ctx, d, ledger.Settlement{State: ledger.DeliveryPending, Outcome: "never_sent", FreeTry: true})
		return 0, true
	case d == nil && due.IsZero():
		return 0, false
	case d == nil:
		return max(time.Until(due), time.Millisecond), true
	}
	return s.bring(ctx, d)
}

// bring sends a part that was begun, or finds out about it, and records what became
// of it. It returns what next does.
func (s *sender) bring(ctx context.Context, d *ledger.Delivery) (wait time.Duration, more bool) {
	if d.State == ledger.DeliverySending && !s.line.lines.Engine.Safe() { // since it was begun
		s.unsent(ctx, d)
		return time.Second, true
	}
	settlement, wait := s.settlement(ctx, d)
	more = s.settle(ctx, d, settlement)
	switch {
	case settlement.Conversation:
		s.notifyGone(ctx, d)
	case settlement.State == ledger.DeliveryDead:
		s.notifyDead(ctx, d, settlement.Outcome)
	}
	return wait, more
}

// settle records what became of the part, again and again while the database
// cannot take it: until then the conversation stands still. more says that something
// is open there, as far as it is known.
func (s *sender) settle(ctx context.Context, d *ledger.Delivery, settlement ledger.Settlement) (more bool) {
	l := s.line
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
	if settlement.State == ledger.DeliverySent && len(d.Body.Buttons) > 0 {
		l.answered(ctx, d, cmp.Or(settlement.PlatformID, d.PlatformID))
	}
	if settlement.State != ledger.DeliverySent && settlement.State != ledger.DeliveryPending {
		l.lines.Log.WarnContext(ctx, "delivery not sent", "channel", l.Name, "delivery_id", d.ID,
			"state", string(settlement.State), "outcome", settlement.Outcome, "detail", settlement.Detail)
	}
	return more
}

// isLost says whether err means that the lease is gone, and ends the holding.
func (s *sender) isLost(err error) bool {
	if errors.Is(err, ledger.ErrFenced) {
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
	return s.started && s.restsNow(conv)
}

// restsNow says that nobody is at work in conv, or knows of anything to do there.
func (s *sender) restsNow(conv channels.ConversationID) bool {
	until, rests := s.idle[conv]
	return s.active[conv] == nil || rests && until.Equal(never)
}

func (s *sender) busyBefore(deadline time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conv := range s.active {
		if until, ok := s.idle[conv]; !ok || until.Before(deadline) {
			return true
		}
	}
	return false
}
