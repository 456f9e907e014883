package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/router/core"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/outbox"
)

// leaseRetry is how often a channel is asked for that another engine holds.
const leaseRetry = time.Second

// A Connection is one channel of this engine: its lease, what keeps it connected, and what sends
// there. It stays when the channel is detached: what a turn says to it then is sent when it is
// attached again.
type Connection struct {
	*adapter
	*outbox.Composer
	*buttons
	Kind       string
	parent     *Connections
	limits     *limits
	supervisor *supervisor
	presenter  *presenter
	pace       pace                   // of the platform's clock
	menus      chan struct{}          // the menu may have changed
	sender     atomic.Pointer[sender] // nil while this engine does not hold the channel

	mu      sync.Mutex
	want    channels.Channel   // what is to be served; nil: nothing
	another context.CancelFunc // ends what is done for the former want
	// newIDs are the conversations that moved while this engine ran: a turn that began
	// before knows the former ID.
	newIDs map[channels.ConversationID]channels.Conversation
}

func newConnection(parent *Connections, ch channels.Channel) *Connection {
	a, limits := &adapter{}, newLimits()
	a.latest.Store(&ch)
	name, log := ch.Name(), parent.Log.With("channel", ch.Name())
	composer := &outbox.Composer{Name: name, Channel: a.channel, MaxParts: parent.MaxParts, Files: parent.Files, Mask: parent.Mask, Log: log}
	return &Connection{
		adapter: a, Composer: composer, Kind: ch.Kind(), parent: parent, limits: limits,
		buttons: &buttons{
			adapter: a, composer: composer, limits: limits, ledger: parent.Store, decided: parent.Decided,
			work: parent.work, background: parent.Background, log: log,
		},
		supervisor: &supervisor{adapter: a, health: newHealth(), name: name, accept: parent.Accept, marks: parent.Marks, active: parent.Active, log: log},
		presenter: &presenter{
			outbounds: outbounds{a, composer, parent.Store, parent.StaleAfter}, name: name, engine: parent.Engine,
			limits: limits, ledger: parent.Store, runs: parent.Runs, log: log, again: make(chan struct{}, 1),
		},
		menus: make(chan struct{}, 1), want: ch, another: func() {}, newIDs: map[channels.ConversationID]channels.Conversation{},
	}
}

// run keeps what is wanted of the channel connected until ctx ends.
func (c *Connection) run(ctx context.Context) {
	for ctx.Err() == nil {
		wanted, want := c.wanted(ctx)
		if want == nil {
			c.parent.Left(wanted, c.Name) // it may never have been served meanwhile
			<-wanted.Done()
			continue
		}
		c.latest.Store(&want)
		c.supervisor.forget()
		c.limits.forgive()
		if c.reader() != nil {
			c.relay(wanted)
		} else {
			c.hold(ctx, wanted)
		}
		c.leave(ctx)
	}
}

// wanted is what is to be served; the context ends when that changes, or with ctx.
func (c *Connection) wanted(ctx context.Context) (context.Context, channels.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.another() // of those who asked before
	ctx, c.another = context.WithCancel(ctx)
	return ctx, c.want
}

// serve has the connection serve another adapter from now on, or none. It does not wait: what
// is under way with the former comes to its end first.
func (c *Connection) serve(want channels.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = want
	c.another()
}

// Attached says whether the channel is to be served.
func (c *Connection) Attached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want != nil
}

// leave, where nothing is to be served any more, waits until what was begun is over, and
// sends what is due, for a while. It ends when something is to be served again.
func (c *Connection) leave(ctx context.Context) {
	if c.Attached() || ctx.Err() != nil {
		return
	}
	leaving, want := c.wanted(ctx)
	if want != nil {
		return
	}
	c.supervisor.setState(ctx, channels.StateWaiting, "it is detached")
	flushing, done := context.WithTimeout(leaving, c.parent.Grace)
	defer done()
	c.parent.Left(leaving, c.Name)
	c.flush(flushing)
}

// flush waits until what is due was sent, until the end of ctx, which has a deadline, at most.
func (c *Connection) flush(ctx context.Context) {
	if s := c.sender.Load(); s != nil {
		deadline, _ := ctx.Deadline()
		for ctx.Err() == nil && s.queue.busyBefore(deadline) {
			retry.Sleep(ctx, 10*time.Millisecond)
		}
	}
}

// relay serves clients that read for themselves, until ctx ends.
func (c *Connection) relay(ctx context.Context) {
	var relaying sync.WaitGroup
	if c.streamer() != nil && c.parent.Wakes != nil {
		relaying.Go(func() { c.presenter.relay(ctx) })
	}
	c.supervisor.connect(ctx)
	relaying.Wait()
}

// hold leases the channel again and again until wanted ends, which is within ctx, so that
// one engine alone holds its connection and sends for it.
func (c *Connection) hold(ctx, wanted context.Context) {
	for wanted.Err() == nil {
		held, ok, err := c.parent.Store.TakeChannel(ctx, c.parent.Engine.ID(), c.Name)
		if err != nil || !ok {
			reason := "another engine holds the channel"
			if err != nil {
				reason = "the database does not lease the channel: " + err.Error()
			}
			if wanted.Err() == nil {
				c.supervisor.setState(ctx, channels.StateWaiting, reason)
			}
			retry.Sleep(wanted, leaseRetry)
			continue
		}
		// A former holder is told of it; what it knew of the channel is read
		// from the database.
		c.parent.Wake(core.Wake{Kind: core.WakeDelivery, Channel: c.Name})
		c.parent.Held(ctx)
		c.use(ctx, wanted, held)
	}
}

// use connects until wanted ends, and sends, under the lease, until ctx ends, the lease is
// lost, or what was begun is over.
func (c *Connection) use(ctx, wanted context.Context, held outbox.Lease) {
	holding, lost := context.WithCancel(ctx)
	defer lost()
	s := newSender(c, &lease{held, lost})
	c.sender.Store(s)
	var sending sync.WaitGroup
	sending.Go(func() { s.run(holding) })
	sending.Go(func() { c.presenter.run(holding, s.queue, s.lease) })
	if commander, ok := c.channel().(channels.Commander); ok {
		sending.Go(func() { c.keepMenu(holding, commander) })
	}
	listening, hangUp := context.WithCancel(holding)
	defer context.AfterFunc(wanted, hangUp)()
	sending.Go(func() {
		c.supervisor.watchDown(listening, func(text string) { c.parent.Notify(listening, outbox.NoticeChannelDown, c.Name, text) })
	})
	c.keepConnected(listening, s)
	hangUp()
	c.leave(holding)
	lost()
	sending.Wait()
	c.sender.Store(nil)
	if ctx.Err() == nil && c.Attached() {
		return // it is leased again, by this engine alone
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.parent.Store.DropChannel(release, held); err != nil && !errors.Is(err, core.ErrFenced) {
		c.Log.WarnContext(ctx, "cannot release the channel's lease", "error", err)
	}
}

// keepConnected has the connection while the lease surely holds, until ctx ends: two
// engines with one channel's connection drive each other out of it.
func (c *Connection) keepConnected(ctx context.Context, s *sender) {
	for ctx.Err() == nil {
		guarded, done := c.parent.Engine.Guard(ctx)
		sure := s.surelyHolds(guarded)
		if sure {
			c.supervisor.connect(guarded)
		}
		done()
		if ctx.Err() == nil && !(sure && c.parent.Engine.Safe()) {
			c.supervisor.setState(ctx, channels.StateWaiting, "the database cannot be reached, so another engine may have the channel")
			retry.Sleep(ctx, pollBusy)
		}
	}
}

// Committed notifies who brings messages to conv: here, or at another engine.
func (c *Connection) Committed(conv channels.Conversation) {
	brought := c.notify(conv)
	switch {
	case c.reader() != nil: // its clients may be anywhere
		c.parent.Wake(core.WakeAt(core.WakeEvents, conv))
	case !brought:
		c.parent.Wake(core.WakeAt(core.WakeDelivery, conv))
	}
}

// notify notifies who brings messages to conv (no ID: anywhere) from this engine; false:
// nobody does.
func (c *Connection) notify(conv channels.Conversation) (brought bool) {
	if reader := c.reader(); reader != nil {
		reader.Wake(conv.ID)
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for range len(c.newIDs) { // a place that moved back and forth does not turn for ever
		now, ok := c.newIDs[conv.ID]
		if !ok {
			break
		}
		conv = now
	}
	s := c.sender.Load()
	switch {
	case s == nil:
	case conv.ID == "":
		s.poll()
	default:
		s.queue.wake(conv)
	}
	return s != nil
}

// Moved says that a conversation has a new ID.
func (c *Connection) Moved(former channels.ConversationID, now channels.Conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newIDs[former] = now
	delete(c.newIDs, now.ID) // it is the present ID, even if it moved away from it before
	if s := c.sender.Load(); s != nil {
		s.queue.moved(former, now.ID)
	}
}

// Holds says whether this engine has the channel now, so that it sends there.
func (c *Connection) Holds() bool { return c.sender.Load() != nil }

// Rest forgets what is kept of a conversation in which nothing happens.
func (c *Connection) Rest(conv channels.Conversation, now time.Time) {
	c.limits.forget(conv.ID, now)
	if c.reader() != nil {
		c.Committed(conv)
	}
}

// SetRate changes the rate of the settings.
func (c *Connection) SetRate(rate string) error {
	if err := c.limits.setRate(rate); err != nil {
		return fmt.Errorf("channels.%s.rate: %w", c.Name, err)
	}
	return nil
}

// onWake does what another engine's commit made possible here. It does not block.
func (c *Connection) onWake(w core.Wake) {
	switch w.Kind {
	case core.WakeAll:
		c.notify(channels.Conversation{})
		c.presenter.poll()
	case core.WakeDelivery, core.WakeEvents:
		c.notify(w.At())
	case core.WakeDraft:
		c.presenter.poll()
	case core.WakeTyping:
		c.presenter.showTyping(w.At())
	}
}

// Place says where a turn speaks.
func (c *Connection) Place(conv channels.Conversation) agent.Place {
	f := c.channel().Features(conv)
	return agent.Place{
		Channel: c.Name, Group: conv.Place, Direct: conv.Kind == channels.Direct,
		MaxText: f.MaxText, Files: f.Files, Buttons: f.Buttons, Rich: f.Markdown, Streams: c.streamer() != nil || c.drafts(f),
	}
}

// IsOf says that a direct chat is that of a person still: a name, and an account, can be
// somebody else's by now. Where no message is kept the chat itself may have their ID.
func (c *Connection) IsOf(chat core.Chat, p *core.Person) bool {
	id := core.PlainID(cmp.Or(chat.Identity, c.Kind+":"+string(chat.ID)))
	return c.Reads() || slices.ContainsFunc(p.Identities, func(own string) bool {
		of, _, _ := strings.Cut(own, ":")
		return (of == c.Name || of == c.Kind) && core.PlainID(own) == id
	})
}

// Asked is since when somebody waits who wrote at that time, by the platform's clock;
// zero: since now.
func (c *Connection) Asked(at time.Time) time.Time {
	if at.IsZero() || c.reader() != nil {
		return time.Time{}
	}
	now, health := time.Now(), c.supervisor.now()
	live := health.state == channels.StateConnected && health.since.Before(at)
	asked := c.pace.observe(at, now, now.Sub(c.parent.began), live)
	if !asked.Before(now) {
		return time.Time{}
	}
	return asked
}

// Presented counts the drafts that are shown, or to be shown, on this channel from here.
func (c *Connection) Presented() int {
	c.presenter.mu.Lock()
	defer c.presenter.mu.Unlock()
	return len(c.presenter.drafts)
}
