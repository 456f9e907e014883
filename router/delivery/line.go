package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/retry"
	"switchboard/router/ledger"
)

// leaseRetry is how often a channel is asked for that another engine holds.
const leaseRetry = time.Second

// A Line is one channel with its lease, its connection and its sender.
type Line struct {
	lines   *Lines
	Name    string
	Kind    string
	channel channels.Channel
	reader  channels.Reader // nil: the channel sends
	limits  *limits
	health  *health
	// presenter shows what grows.
	presenter *presenter
	pace      pace    // of the platform's clock
	trouble   trouble // connect's alone
	renew     chan struct{}

	mu     sync.Mutex
	sender *sender // nil while this engine does not hold the channel
	// newIDs are the conversations that moved while this engine ran: a turn that began
	// before knows the former ID.
	newIDs map[channels.ConversationID]channels.Conversation
}

func newLine(ls *Lines, c Rated) (*Line, error) {
	limits, err := newLimits(c.Rate)
	if err != nil {
		return nil, fmt.Errorf("channels.%s.rate: %w", c.Name(), err)
	}
	l := &Line{
		lines: ls, Name: c.Name(), Kind: c.Kind(),
		channel: c.Channel, limits: limits, health: newHealth(), renew: make(chan struct{}, 1),
	}
	l.reader, _ = c.Channel.(channels.Reader)
	l.presenter = newPresenter(l)
	return l, nil
}

// run keeps the channel connected until ctx ends. A channel that sends is first
// leased, so that one engine alone holds its connection and sends for it.
func (l *Line) run(ctx context.Context) {
	if l.reader != nil {
		var relaying sync.WaitGroup
		relaying.Go(func() { l.presenter.relay(ctx) })
		l.connect(ctx)
		relaying.Wait()
		return
	}
	for ctx.Err() == nil {
		hold, ok, err := l.lines.Ledger.TakeChannel(ctx, l.lines.Engine.ID(), l.Name)
		if err != nil || !ok {
			reason := "another engine holds the channel"
			if err != nil {
				reason = "the database does not lease the channel: " + err.Error()
			}
			if ctx.Err() == nil {
				l.setState(ctx, channels.StateWaiting, reason)
			}
			retry.Sleep(ctx, leaseRetry)
			continue
		}
		// A former holder learns of it by the wake; what it knew of the channel is read
		// from the ledger.
		l.lines.Wake(ledger.Wake{Kind: ledger.WakeDelivery, Channel: l.Name})
		l.lines.Held(ctx)
		l.serve(ctx, hold)
	}
}

// serve connects and sends under the lease, until ctx ends or the lease is lost.
func (l *Line) serve(ctx context.Context, hold ledger.Hold) {
	holding, lost := context.WithCancel(ctx)
	defer lost()
	s := newSender(l, hold, lost)
	l.setSender(s)
	var sending sync.WaitGroup
	sending.Go(func() { s.run(holding) })
	sending.Go(func() { l.presenter.run(holding) })
	sending.Go(func() { l.keepMenu(holding) })
	l.keepConnected(holding, s)
	sending.Wait()
	l.setSender(nil)
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.lines.Ledger.DropChannel(release, hold); err != nil && !errors.Is(err, ledger.ErrFenced) {
		l.lines.Log.WarnContext(ctx, "cannot release the channel's lease", "channel", l.Name, "error", err)
	}
}

// keepConnected has the connection while the lease surely holds, until ctx ends: two
// engines with one channel's connection drive each other out of it.
func (l *Line) keepConnected(ctx context.Context, s *sender) {
	for ctx.Err() == nil {
		guarded, done := l.lines.Engine.Guard(ctx)
		sure := s.surelyHolds(guarded)
		if sure {
			l.connect(guarded)
			l.health.rests(0)
		}
		done()
		if ctx.Err() == nil && !(sure && l.lines.Engine.Safe()) {
			l.setState(ctx, channels.StateWaiting, "the database cannot be reached, so that another engine may have the channel")
			retry.Sleep(ctx, lookBusy)
		}
	}
}

// Reads says that the channel's clients read for themselves.
func (l *Line) Reads() bool { return l.reader != nil }

// Committed wakes who brings messages to conv: here, or at another engine.
func (l *Line) Committed(conv channels.Conversation) {
	brought := l.notify(conv)
	switch {
	case l.reader != nil: // its clients may be anywhere
		l.lines.Wake(ledger.WakeAt(ledger.WakeEvents, conv))
	case !brought:
		l.lines.Wake(ledger.WakeAt(ledger.WakeDelivery, conv))
	}
}

// notify wakes who brings messages to conv (no ID: anywhere) from this engine; false:
// nobody does.
func (l *Line) notify(conv channels.Conversation) (brought bool) {
	if l.reader != nil {
		l.reader.Wake(conv.ID)
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for range len(l.newIDs) { // a place that moved back and forth does not turn for ever
		now, ok := l.newIDs[conv.ID]
		if !ok {
			break
		}
		conv = now
	}
	switch {
	case l.sender == nil:
		return false
	case conv.ID == "":
		l.sender.look()
	default:
		l.sender.wake(conv)
	}
	return true
}

// Moved says that a conversation has a new ID.
func (l *Line) Moved(former channels.ConversationID, now channels.Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newIDs == nil {
		l.newIDs = map[channels.ConversationID]channels.Conversation{}
	}
	l.newIDs[former] = now
	delete(l.newIDs, now.ID) // it is the present ID, even if it moved away from it before
	if l.sender != nil {
		l.sender.moved(former, now.ID)
	}
}

// quiet says that this engine sends for the channel and has nothing to send in conv.
func (l *Line) quiet(conv channels.ConversationID) bool {
	s := l.senderNow()
	return s != nil && s.quiet(conv)
}

// senderNow is the sender by which this engine sends for the channel; nil: it does not.
func (l *Line) senderNow() *sender {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sender
}

// Holds says whether this engine has the channel now, so that it sends there.
func (l *Line) Holds() bool { return l.senderNow() != nil }

// Rest forgets what is kept of a conversation in which nothing happens.
func (l *Line) Rest(conv channels.Conversation, now time.Time) {
	l.limits.forget(conv.ID, now)
	if l.reader != nil {
		l.Committed(conv)
	}
}

func (l *Line) setSender(s *sender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sender = s
}
