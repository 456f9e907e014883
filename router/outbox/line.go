package outbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

// leaseRetry is how often a channel is asked for that another engine holds.
const leaseRetry = time.Second

// A Line is one channel with its lease, its connection and its sender. It stays when the
// channel is detached: what a turn says to it then is sent when it is attached again.
type Connection struct {
	lines   *Connections
	Name    string
	Kind    string
	adapter atomic.Pointer[channels.Channel] // the latest that was served
	limits  *limits
	health  *health
	// presenter shows what grows.
	presenter *presenter
	pace      pace          // of the platform's clock
	trouble   trouble       // connect's alone
	menus     chan struct{} // the menu may have changed

	mu      sync.Mutex
	want    channels.Channel   // what is to be served; nil: nothing
	another context.CancelFunc // ends what is done for the former want
	sender  *sender            // nil while this engine does not hold the channel
	// newIDs are the conversations that moved while this engine ran: a turn that began
	// before knows the former ID.
	newIDs map[channels.ConversationID]channels.Conversation
}

func newConnection(ls *Connections, c channels.Channel, limits *limits) *Connection {
	l := &Connection{lines: ls, Name: c.Name(), Kind: c.Kind(), want: c, another: func() {}, limits: limits, health: newHealth(), menus: make(chan struct{}, 1)}
	l.adapter.Store(&c)
	l.presenter = newPresenter(l)
	return l
}

// channel is the adapter that is served, or was until it was detached.
func (l *Connection) channel() channels.Channel {
	if c := l.adapter.Load(); c != nil {
		return *c
	}
	return nil
}

// reader is the channel as one whose clients read for themselves; nil: it sends.
func (l *Connection) reader() channels.Reader {
	r, _ := l.channel().(channels.Reader)
	return r
}

// run keeps what is wanted of the channel connected until ctx ends.
func (l *Connection) run(ctx context.Context) {
	for ctx.Err() == nil {
		wanted, want := l.wanted(ctx)
		if want == nil {
			l.lines.Left(wanted, l.Name) // it may never have been served meanwhile
			<-wanted.Done()
			continue
		}
		l.adapter.Store(&want)
		l.trouble = trouble{}
		l.health.reset()
		l.limits.forgive()
		if l.reader() != nil {
			l.relay(wanted)
		} else {
			l.hold(ctx, wanted)
		}
		l.leave(ctx)
	}
}

// wanted is what is to be served; the context ends when that changes, or with ctx.
func (l *Connection) wanted(ctx context.Context) (context.Context, channels.Channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.another() // of those who asked before
	ctx, l.another = context.WithCancel(ctx)
	return ctx, l.want
}

// serve has the line serve another adapter from now on, or none. It does not wait: what
// is under way with the former comes to its end first.
func (l *Connection) serve(want channels.Channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.want = want
	l.another()
}

// Attached says whether the channel is to be served.
func (l *Connection) Attached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.want != nil
}

// leave, where nothing is to be served any more, waits until what was begun is over, and
// sends what is due, for a while. It ends when something is to be served again.
func (l *Connection) leave(ctx context.Context) {
	if l.Attached() || ctx.Err() != nil {
		return
	}
	leaving, want := l.wanted(ctx)
	if want != nil {
		return
	}
	l.setState(ctx, channels.StateWaiting, "it is detached")
	flushing, done := context.WithTimeout(leaving, l.lines.Grace)
	defer done()
	l.lines.Left(leaving, l.Name)
	if s := l.senderNow(); s != nil {
		s.flush(flushing)
	}
}

// relay serves clients that read for themselves, until ctx ends.
func (l *Connection) relay(ctx context.Context) {
	var relaying sync.WaitGroup
	relaying.Go(func() { l.presenter.relay(ctx) })
	l.connect(ctx)
	relaying.Wait()
}

// hold leases the channel again and again until wanted ends, which is within ctx, so that
// one engine alone holds its connection and sends for it.
func (l *Connection) hold(ctx, wanted context.Context) {
	for wanted.Err() == nil {
		hold, ok, err := l.lines.Ledger.TakeChannel(ctx, l.lines.Engine.ID(), l.Name)
		if err != nil || !ok {
			reason := "another engine holds the channel"
			if err != nil {
				reason = "the database does not lease the channel: " + err.Error()
			}
			if wanted.Err() == nil {
				l.setState(ctx, channels.StateWaiting, reason)
			}
			retry.Sleep(wanted, leaseRetry)
			continue
		}
		// A former holder learns of it by the wake; what it knew of the channel is read
		// from the ledger.
		l.lines.Wake(core.Wake{Kind: core.WakeDelivery, Channel: l.Name})
		l.lines.Held(ctx)
		l.use(ctx, wanted, hold)
	}
}

// use connects until wanted ends, and sends, under the lease, until ctx ends, the lease is
// lost, or what was begun is over.
func (l *Connection) use(ctx, wanted context.Context, hold Lease) {
	holding, lost := context.WithCancel(ctx)
	defer lost()
	s := newSender(l, hold, lost)
	l.setSender(s)
	var sending sync.WaitGroup
	sending.Go(func() { s.run(holding) })
	sending.Go(func() { l.presenter.run(holding) })
	sending.Go(func() { l.keepMenu(holding) })
	listening, hangUp := context.WithCancel(holding)
	defer context.AfterFunc(wanted, hangUp)()
	sending.Go(func() { l.watchDown(listening) })
	l.keepConnected(listening, s)
	hangUp()
	l.leave(holding)
	lost()
	sending.Wait()
	l.setSender(nil)
	if ctx.Err() == nil && l.Attached() {
		return // it is leased again, by this engine alone
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.lines.Ledger.DropChannel(release, hold); err != nil && !errors.Is(err, core.ErrFenced) {
		l.lines.Log.WarnContext(ctx, "cannot release the channel's lease", "channel", l.Name, "error", err)
	}
}

// keepConnected has the connection while the lease surely holds, until ctx ends: two
// engines with one channel's connection drive each other out of it.
func (l *Connection) keepConnected(ctx context.Context, s *sender) {
	for ctx.Err() == nil {
		guarded, done := l.lines.Engine.Guard(ctx)
		sure := s.surelyHolds(guarded)
		if sure {
			l.connect(guarded)
			l.health.rests(0)
		}
		done()
		if ctx.Err() == nil && !(sure && l.lines.Engine.Safe()) {
			l.setState(ctx, channels.StateWaiting, "the database cannot be reached, so another engine may have the channel")
			retry.Sleep(ctx, lookBusy)
		}
	}
}

// Reads says that the channel's clients read for themselves.
func (l *Connection) Reads() bool { return l.reader() != nil }

// Committed wakes who brings messages to conv: here, or at another engine.
func (l *Connection) Committed(conv channels.Conversation) {
	brought := l.notify(conv)
	switch {
	case l.reader() != nil: // its clients may be anywhere
		l.lines.Wake(core.WakeAt(core.WakeEvents, conv))
	case !brought:
		l.lines.Wake(core.WakeAt(core.WakeDelivery, conv))
	}
}

// notify wakes who brings messages to conv (no ID: anywhere) from this engine; false:
// nobody does.
func (l *Connection) notify(conv channels.Conversation) (brought bool) {
	if l.reader() != nil {
		l.reader().Wake(conv.ID)
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
func (l *Connection) Moved(former channels.ConversationID, now channels.Conversation) {
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
func (l *Connection) quiet(conv channels.ConversationID) bool {
	s := l.senderNow()
	return s != nil && s.quiet(conv)
}

// senderNow is the sender by which this engine sends for the channel; nil: it does not.
func (l *Connection) senderNow() *sender {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sender
}

// Holds says whether this engine has the channel now, so that it sends there.
func (l *Connection) Holds() bool { return l.senderNow() != nil }

// Rest forgets what is kept of a conversation in which nothing happens.
func (l *Connection) Rest(conv channels.Conversation, now time.Time) {
	l.limits.forget(conv.ID, now)
	if l.reader() != nil {
		l.Committed(conv)
	}
}

func (l *Connection) setSender(s *sender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sender = s
}
