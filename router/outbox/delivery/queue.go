package delivery

import (
	"context"
	"sync"
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// never is when a conversation with nothing to send has something to do.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// A queue is the conversations in which a sender has something to do; each has a goroutine of its own.
type queue struct {
	limits  *limits
	work    func(context.Context, *conversation) // sends what a conversation has, in its goroutine
	forgot  func(channels.ConversationID)        // its work has ended; called under the lock
	working sync.WaitGroup

	mu    sync.Mutex
	ctx   context.Context // of run; nil before it
	convs map[channels.ConversationID]*conversation
}

// A conversation is what a queue knows of one. It is forgotten when its work ends.
type conversation struct {
	conv  channels.Conversation
	wake  chan struct{}
	lock  *sendLock
	works bool      // it has a goroutine, or gets one when the queue runs
	rests time.Time // it has nothing to do before then; zero: it may have
	waits bool      // for its turn, or for a sign that the platform takes messages
	// mayBegin is since when a part may have been begun by a call whose answer was lost.
	mayBegin time.Time
}

// A sendLock lets one part of a conversation be sent at a time. Under its former ID and
// its new one a conversation has the same.
type sendLock struct {
	sync.Mutex
	// begun was begun by the commit that stored it and waits to be sent, before
	// everything else.
	begun *outbox.Delivery
}

// take returns what waits to be sent; nil: nothing. Called under the lock.
func (l *sendLock) take() *outbox.Delivery {
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

// run starts the goroutines of conversations, until ctx ends.
func (q *queue) run(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ctx = ctx
	for _, c := range q.convs {
		if c.works {
			q.start(c)
		}
	}
}

// wait waits, once the context of run has ended, until all work has.
func (q *queue) wait() {
	q.mu.Lock() // start reads the context under it
	q.mu.Unlock()
	q.working.Wait()
}

// runs says that conversations get their goroutines. Called under the lock.
func (q *queue) runs() bool { return q.ctx != nil && q.ctx.Err() == nil }

// start gives a conversation its goroutine. Called under the lock.
func (q *queue) start(c *conversation) {
	if q.runs() {
		q.working.Go(func() { q.work(q.ctx, c) })
	}
}

// of is what is known of a conversation. Called under the lock.
func (q *queue) of(conv channels.ConversationID) *conversation {
	c := q.convs[conv]
	if c == nil {
		c = &conversation{wake: make(chan struct{}, 1), lock: &sendLock{}}
		q.convs[conv] = c
	}
	return c
}

// moved says that a conversation has a new ID: what is on its way under the former
// one is awaited before anything goes out under the new one.
func (q *queue) moved(former, now channels.ConversationID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(now).lock = q.of(former).lock
}

// wake says that conv has something to send.
func (q *queue) wake(conv channels.Conversation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.of(conv.ID)
	if c.works {
		c.poll()
		return
	}
	c.conv, c.works = conv, true
	q.start(c)
}

// poll has a conversation that is at work ask for what there is to do. Called under the queue's lock.
func (c *conversation) poll() {
	c.rests = time.Time{} // now, not when it wakes: flush may ask before
	retry.Signal(c.wake)
}

// wakeOthers has the conversations that wait for their turn ask whether it is.
func (q *queue) wakeOthers(conv channels.ConversationID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for other, c := range q.convs {
		if c.waits && other != conv {
			c.poll()
		}
	}
}

// wakeNext has the conversation ask whose turn it is, after another did not use its
// own.
func (q *queue) wakeNext(conv channels.ConversationID) {
	next, ok := q.limits.next(time.Now())
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.convs[next]; ok && next != conv && c != nil {
		c.poll()
	}
}

// release returns a right to send that nobody used.
func (q *queue) release(conv channels.ConversationID) {
	if q.limits.release(conv, false) {
		q.wakeOthers(conv)
	}
}

// setWaits notes whether conv may be waiting for the limiter, or for a sign that the
// platform takes messages.
func (q *queue) setWaits(conv channels.ConversationID, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(conv).waits = waits
}

// rest notes that there is nothing to do before then, unless the conversation was
// just woken.
func (q *queue) rest(c *conversation, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(c.wake) == 0 || until.IsZero() {
		c.rests = until
	}
}

// leave ends a conversation's work and forgets it, unless it was just woken, or is about to be;
// surely: in any case.
func (q *queue) leave(c *conversation, surely bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !surely && (c.rests.IsZero() || !c.lock.unused()) {
		return false
	}
	delete(q.convs, c.conv.ID)
	q.limits.forget(c.conv.ID, time.Now())
	q.forgot(c.conv.ID)
	return true
}

// lockOf is the present lock of a conversation.
func (q *queue) lockOf(c *conversation) *sendLock {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.lock
}

// lockQuiet locks a conversation in which there is nothing to send, if may, called under the queue's lock, says so;
// nil: there may be something. May can be nil.
func (q *queue) lockQuiet(conv channels.ConversationID, may func() bool) *sendLock {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.quietNow(conv) {
		return nil
	}
	lock := q.of(conv).lock
	if !lock.TryLock() {
		return nil
	}
	if may != nil && !may() {
		lock.Unlock()
		return nil
	}
	return lock
}

// quiet says that there is nothing to send in conv.
func (q *queue) quiet(conv channels.ConversationID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.quietNow(conv)
}

// quietNow is quiet under the lock: nobody is at work in conv, or knows of anything to do there.
func (q *queue) quietNow(conv channels.ConversationID) bool {
	c := q.convs[conv]
	return q.runs() && (c == nil || !c.works || c.rests.Equal(never))
}

// busyBefore says that a conversation has something to do before the deadline.
func (q *queue) busyBefore(deadline time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.convs {
		if c.works && c.rests.Before(deadline) {
			return true
		}
	}
	return false
}

// markUnknown notes that a call which began then may have begun the next part of conv, though it
// failed; zero: a commit began it. Calls before that, whose answers
// were lost, had begun none, or there would have been something open.
func (q *queue) markUnknown(conv channels.ConversationID, called time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.of(conv); c.mayBegin.IsZero() || called.IsZero() {
		c.mayBegin = called
	}
}

// neverSent says that d, the head of conv as it was found now, is unknown only because
// the answer of the call that began it was lost: it was not sent, and nobody else holds the
// channel.
func (q *queue) neverSent(conv channels.ConversationID, d *outbox.Delivery) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.of(conv)
	since := c.mayBegin
	c.mayBegin = time.Time{}
	return d != nil && d.State == outbox.DeliveryUnknown && !since.IsZero() && !d.LastTry.Before(since.Truncate(time.Microsecond))
}
