package delivery

import (
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
)

// An Opened conversation has nothing to send; its lock and the right to send one part are
// held for a commit that begins the first part of what it stores. Who opened it closes it.
type Opened struct {
	outbox.Opening
	sender *sender
	lock   *sendLock
	closed bool
}

// Open opens a conversation, if its next part may be sent at once; otherwise nil,
// and the part has to wait for its turn.
func (c *Connection) Open(conv channels.Conversation) *Opened {
	s := c.sender.Load()
	c.mu.Lock()
	_, moved := c.newIDs[conv.ID]
	c.mu.Unlock()
	if s == nil || moved || !s.engine.Safe() {
		return nil
	}
	rates := s.rates(conv)
	lock := s.queue.lockQuiet(conv.ID, func() bool {
		if !s.limits.try(conv.ID, rates, time.Now()) {
			return false
		}
		s.queue.working.Add(1) // the lease is not released before it is closed
		return true
	})
	if lock == nil {
		return nil
	}
	return &Opened{Opening: outbox.Opening{Lease: s.lease.Lease, Conversation: conv}, sender: s, lock: lock}
}

// MarkUnknown notes that a commit which began then failed, and may have begun the part all
// the same.
func (o *Opened) MarkUnknown(called time.Time, err error) {
	if !o.closed {
		o.sender.mayHaveBegun(o.Conversation.ID, called, err)
	}
}

// Close gives the part that was begun to the conversation's sender, or releases
// what was held for it; began says which. Closing again, or nil, does nothing.
func (o *Opened) Close() (began bool) {
	if o == nil || o.closed {
		return false
	}
	o.closed = true
	s := o.sender
	defer s.queue.working.Done()
	if o.Begun == nil {
		s.limits.release(o.Conversation.ID, false)
		o.lock.Unlock()
		return false
	}
	s.queue.markUnknown(o.Conversation.ID, time.Time{})
	o.lock.begun = o.Begun
	o.lock.Unlock()
	s.queue.wake(o.Conversation)
	if s.queue.ctx.Err() != nil { // its work may have ended
		s.abort(s.queue.ctx, o.lock)
	}
	return true
}
