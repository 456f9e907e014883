package outbox

import (
	"context"
	"sync"
	"time"

	"switchboard/channels"
)

// A sendLock lets one part of a conversation be sent at a time. Under its former ID and
// its new one a conversation has the same.
type sendLock struct {
	sync.Mutex
	// begun was begun by the commit that stored it and waits to be sent, before
	// everything else.
	begun *Delivery
}

// take hands over what waits to be sent; nil: nothing. Called under the lock.
func (l *sendLock) take() *Delivery {
	d := l.begun
	l.begun = nil
	return d
}

// unused says that nothing is being sent, and nothing waits to be.
func (l *sendLock) unused() bool {
	if !l.TryLock() {
		return false
	}
	defer l.Unlock()
	return l.begun == nil
}

// An opened conversation has nothing to send; its lock and the right to send one part are
// held for a commit that begins the first part of what it stores. Who opened it closes it.
type Opened struct {
	Opening
	sender *sender
	lock   *sendLock
	closed bool
}

// Open opens a conversation, if its next part may be sent at once; otherwise nil,
// and the part has to wait for its turn.
func (l *Connection) Open(conv channels.Conversation) *Opened {
	l.mu.Lock()
	s := l.sender
	_, moved := l.newIDs[conv.ID]
	l.mu.Unlock()
	if s == nil || moved || !l.lines.Engine.Safe() {
		return nil
	}
	return s.open(conv)
}

func (s *sender) open(conv channels.Conversation) *Opened {
	rates := s.line.channel().Features(conv).Rates
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := s.lockQuiet(conv.ID)
	if lock == nil {
		return nil
	}
	if !s.line.limits.try(conv.ID, rates, time.Now()) {
		lock.Unlock()
		return nil
	}
	s.working.Add(1) // the lease is not dropped before it is closed
	return &Opened{Opening: Opening{Lease: s.hold, Conversation: conv}, sender: s, lock: lock}
}

// lockQuiet locks a conversation in which there is nothing to send; nil: there may be. Called
// under the sender's lock.
func (s *sender) lockQuiet(conv channels.ConversationID) *sendLock {
	if !s.runs() || !s.restsNow(conv) {
		return nil
	}
	if lock := s.of(conv).lock; lock.TryLock() {
		return lock
	}
	return nil
}

// lockQuiet is that of this engine's sender; nil also where it has none.
func (l *Connection) lockQuiet(conv channels.ConversationID) *sendLock {
	s := l.senderNow()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockQuiet(conv)
}

// MarkUncertain notes that a commit which began then failed, and may have begun the part all
// the same.
func (o *Opened) MarkUncertain(called time.Time, err error) {
	if !o.closed {
		o.sender.markUncertain(o.Conversation.ID, called, err)
	}
}

// Close hands the part that was begun to the conversation's sender, or gives back
// what was held for it; began says which. Closing again, or nil, does nothing.
func (o *Opened) Close() (began bool) {
	if o == nil || o.closed {
		return false
	}
	o.closed = true
	s := o.sender
	defer s.working.Done()
	if o.Begun == nil {
		s.line.limits.giveBack(o.Conversation.ID)
		o.lock.Unlock()
		return false
	}
	s.certain(o.Conversation.ID)
	o.lock.begun = o.Begun
	o.lock.Unlock()
	s.wake(o.Conversation)
	if s.ctx.Err() != nil { // its work may have ended
		s.handBack(o.lock)
	}
	return true
}

// handBack makes a part pending again that was begun and never sent.
func (s *sender) handBack(lock *sendLock) {
	lock.Lock()
	defer lock.Unlock()
	if d := lock.take(); d != nil {
		s.unsent(s.ctx, d)
	}
}

func (s *sender) unsent(ctx context.Context, d *Delivery) {
	s.line.limits.giveBack(d.Conversation.ID)
	s.settle(ctx, d, Settlement{State: DeliveryPending, FreeTry: true})
}
