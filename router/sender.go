package router

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/retry"
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
	kicked  map[channels.ConversationID]*atWork   // one a conversation at work
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
	// unsure is since when a part may have been begun by a call whose answer was lost.
	unsure    map[channels.ConversationID]time.Time
	latestIll int64 // the delivery that the platform could not take, since it answered one

	probing chan struct{} // its one place is taken while the platform is asked whether it lives
	probed  time.Time     // when it was, the latest
	alive   bool          // and what it said
}

// atWork is a conversation that has a goroutine, or gets one when the sender starts.
type atWork struct {
	conv channels.Conversation
	kick chan struct{}
}

func newSender(l *line, hold Hold, lost context.CancelFunc) *sender {
	return &sender{
		line: l, hold: hold, lost: lost,
		kicked:  map[channels.ConversationID]*atWork{},
		idle:    map[channels.ConversationID]time.Time{},
		gates:   map[channels.ConversationID]*gate{},
		failing: map[channels.ConversationID]*stuckHead{},
		waiting: map[channels.ConversationID]bool{}, unsure: map[channels.ConversationID]time.Time{}, probing: make(chan struct{}, 1), looks: make(chan struct{}, 1),
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
	for _, w := range s.kicked {
		s.employ(w)
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		safe := s.line.router.Engine.Safe()
		open, err := s.line.router.Ledger.Open(ctx, s.hold)
		if err == nil {
			for _, conv := range open {
				s.kick(conv)
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
		// Nothing here needs this look again; it is the net under a lost kick.
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
	guarded, done := s.line.router.Engine.Guard(ctx)
	defer done()
	retry.Await(guarded, s.looks, lookIdle)
}

// look asks run to look at everything that is open, and whether the lease still holds.
func (s *sender) look() { poke(s.looks) }

// kick says that conv has something to send.
func (s *sender) kick(conv channels.Conversation) {
	if s.nudge(conv.ID) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kicked[conv.ID] == nil {
		w := &atWork{conv: conv, kick: make(chan struct{}, 1)}
		s.kicked[conv.ID] = w
		s.employ(w)
	}
}

// nudge is kick for a conversation that is at work; false: it is not.
func (s *sender) nudge(conv channels.ConversationID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.kicked[conv]
	if w == nil {
		return false
	}
	delete(s.idle, conv) // now, not when it wakes: flush may look before
	poke(w.kick)
	return true
}

// employ gives a conversation its goroutine. Called under the lock.
func (s *sender) employ(w *atWork) {
	if s.started && s.ctx.Err() == nil {
		s.working.Go(func() { s.work(s.ctx, w.conv, w.kick) })
	}
}

// work sends a conversation's deliveries until there has been nothing for a while.
func (s *sender) work(ctx context.Context, place channels.Conversation, kick chan struct{}) {
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
	s.handBack(s.gate(conv))
	s.leave(conv, kick)
}

// leave ends a conversation's sender unless somebody just kicked it, or is about to.
func (s *sender) leave(conv channels.ConversationID, kick chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil && (len(kick) > 0 || !s.gateOf(conv).deserted()) {
		return false
	}
	delete(s.kicked, conv)
	delete(s.idle, conv)
	delete(s.gates, conv)
	delete(s.failing, conv)
	delete(s.waiting, conv)
	delete(s.unsure, conv)
	s.line.limits.forget(conv, time.Now())
	return true
}

// resting says that conv has nothing to do before then, unless it was just kicked.
func (s *sender) resting(conv channels.ConversationID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.kicked[conv]; w == nil || len(w.kick) == 0 {
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
	if !l.router.Engine.Safe() {
		return time.Second, true
	}
	s.waitsForTurn(conv, true)
	wait, doubt := s.patience(ctx, conv)
	if !doubt { // to decide about one is no send
		wait = l.limits.take(conv, l.channel.Features(place).Rates, time.Now())
	}
	if wait > 0 {
		s.kickNext(conv)
		return wait, true
	}
	s.waitsForTurn(conv, false)
	called := time.Now()
	d, due, err := l.router.Ledger.Begin(ctx, s.hold, place)
	if !doubt && (err != nil || d == nil) {
		if l.limits.giveBack(conv) {
			s.kickOthers(conv)
		}
		s.kickNext(conv)
	}
	switch {
	case err != nil:
		s.unheard(conv, called, err)
		if !s.isLost(err) && ctx.Err() == nil {
			l.router.Log.ErrorContext(ctx, "cannot take a delivery", "channel", l.name, "conversation_id", conv, "error", err)
		}
		return retryMin, true
	case s.neverSent(conv, d):
		s.settle(ctx, d, Settlement{State: DeliveryPending, Outcome: "never_sent", FreeTry: true})
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
func (s *sender) bring(ctx context.Context, d *Delivery) (wait time.Duration, more bool) {
	if d.State == DeliverySending && !s.line.router.Engine.Safe() { // since it was begun
		s.unsent(ctx, d)
		return time.Second, true
	}
	settlement, wait := s.settlement(ctx, d)
	more = s.settle(ctx, d, settlement)
	switch {
	case settlement.Conversation:
		s.tellGone(ctx, d)
	case settlement.State == DeliveryDead:
		s.tellDead(ctx, d, settlement.Outcome)
	}
	return wait, more
}

// settle records what became of the part, again and again while the database
// cannot take it: until then the conversation stands still. more says that something
// is open there, as far as it is known.
func (s *sender) settle(ctx context.Context, d *Delivery, settlement Settlement) (more bool) {
	l := s.line
	for range retry.Doubling(ctx, 50*time.Millisecond, 2*time.Second) {
		var err error
		more, err = l.router.Ledger.Settle(context.WithoutCancel(ctx), s.hold, d, settlement)
		if err == nil {
			break
		}
		if s.isLost(err) || ctx.Err() != nil {
			return true // the next holder finds it sending, and asks the platform
		}
		l.router.Log.WarnContext(ctx, "a delivery could not be settled, trying again", "channel", l.name, "delivery_id", d.ID, "error", err)
	}
	if settlement.State == DeliverySent && len(d.Body.Buttons) > 0 {
		l.answered(ctx, d, cmp.Or(settlement.PlatformID, d.PlatformID))
	}
	if settlement.State != DeliverySent && settlement.State != DeliveryPending {
		l.router.Log.WarnContext(ctx, "delivery not sent", "channel", l.name, "delivery_id", d.ID,
			"state", string(settlement.State), "outcome", settlement.Outcome, "detail", settlement.Detail)
	}
	return more
}

// isLost says whether err means that the lease is gone, and ends the holding.
func (s *sender) isLost(err error) bool {
	if errors.Is(err, ErrFenced) {
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
	_, err := s.line.router.Ledger.Open(guarded, s.hold)
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
	return s.kicked[conv] == nil || rests && until.Equal(never)
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
