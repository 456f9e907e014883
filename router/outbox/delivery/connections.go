package delivery

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/router/core"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/secrets"
	"switchboard/router/outbox"
)

// pollBusy and pollIdle are how often the database is read without a notification, in
// trouble and without.
const (
	pollBusy = time.Second
	pollIdle = 15 * time.Second
)

// Deps are what connections are made of.
type Deps struct {
	// StaleAfter is how late a part has to be to say so.
	StaleAfter func() time.Duration
	// MaxParts is how many messages one answer may become; 0: any number.
	MaxParts func() int
	People   People
	Engine   Engine
	Store    interface {
		Leases
		Deliveries
		Unnamed
		Questions
		Drafts
		ShownTurns
		Notices
	}
	Wakes core.Wakes         // nil: no other engine shares the database
	Files outbox.Attachments // what is sent along
	// Mask takes known secrets out of what is said.
	Mask *secrets.Masker
	Log  *slog.Logger
	// Accept takes in what comes from a channel.
	Accept func(context.Context, []channels.Event) ([]channels.Receipt, error)
	// Marks are the marks that a channel's events brought.
	Marks func(ctx context.Context, channel string) ([]channels.Mark, error)
	// Held reads, once a channel's lease was taken, what other engines did.
	Held func(context.Context)
	// Menu is the menu of commands of a channel, by its name and kind.
	Menu func(name, kind string) []channels.CommandSet
	// Targets are where notices of a kind go, as [notify] has it; none: to each
	// admin's last used direct chat.
	Targets func(outbox.NoticeKind) []string
	// Runs says whether a turn runs on this engine.
	Runs func(turn int64) bool
	// Left waits until no turn of a channel that is detached runs here any more.
	Left func(ctx context.Context, channel string)
	// Zone is the time zone in which a person, who may be nobody, reads times in a conversation.
	Zone func(ctx context.Context, conv channels.Conversation, person string) *time.Location
	// Grace is how long what is due is sent on a channel that is detached.
	Grace time.Duration
}

// A Rated is a channel with the rate of its settings: "default", "off" or a rate.
type Rated struct {
	channels.Channel
	Rate string
}

// Connections are the channels of an engine: how they are connected, and all that is sent there.
type Connections struct {
	Deps
	Activity   core.Activity   // on this engine, and of others as far as they tell
	telling    atomic.Bool     // the other engines are about to be told of some
	background sync.WaitGroup  // what is shown besides deliveries, best effort
	began      time.Time       // when New was called
	work       context.Context // of sends

	mu      sync.Mutex
	list    map[string]*Connection // by channel name; also those that were detached
	serving context.Context        // Run's; nil before it
	running sync.WaitGroup
}

// New returns connections whose sends end with work; I/O starts in Run.
func New(work context.Context, deps Deps) *Connections {
	return &Connections{Deps: deps, list: map[string]*Connection{}, began: time.Now(), work: work}
}

// Attach serves a channel from now on, in place of the one of its name if there is one: what
// that has under way comes to its end first, which is not waited for. Attached again, a
// channel is of the kind that it was.
func (cs *Connections) Attach(ch Rated) (*Connection, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.list[ch.Name()]
	known := c != nil
	if !known {
		c = newConnection(cs, ch.Channel)
	}
	if c.Kind != ch.Kind() {
		return nil, fmt.Errorf("channels.%s.kind: it was %s since the program began, and is %s after a restart", c.Name, c.Kind, ch.Kind())
	}
	if err := c.SetRate(ch.Rate); err != nil {
		return nil, err
	}
	if known {
		c.serve(ch.Channel)
	} else {
		cs.list[c.Name] = c
		cs.start(c)
	}
	return c, nil
}

// start serves a channel, if the others are. Called under the lock.
func (cs *Connections) start(c *Connection) {
	if cs.serving != nil && cs.serving.Err() == nil {
		cs.running.Go(func() { c.run(cs.serving) })
	}
}

// Detach serves a channel no more. It does not wait: nothing more comes in, what is due is
// sent for a while, the send under way is settled, and the lease is released.
func (cs *Connections) Detach(name string) {
	if c := cs.Connection(name); c != nil {
		c.serve(nil)
	}
}

// all are the channels, also those that were detached.
func (cs *Connections) all() []*Connection {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Values(cs.list))
}

// Connection is the channel of that name, also one that was detached; nil: there was none.
func (cs *Connections) Connection(name string) *Connection {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.list[name]
}

// Run serves every channel until ctx ends, and what goes on in the background.
func (cs *Connections) Run(ctx context.Context) {
	cs.mu.Lock()
	cs.serving = ctx
	for _, c := range cs.list {
		cs.start(c)
	}
	cs.mu.Unlock()
	<-ctx.Done()
	cs.mu.Lock() // start reads ctx under it
	cs.mu.Unlock()
	cs.running.Wait()
	cs.background.Wait()
}

// Flush waits until what is due was sent, until ctx ends at most.
func (cs *Connections) Flush(ctx context.Context) {
	for _, c := range cs.all() {
		c.flush(ctx)
	}
}

// Background does something best effort, in the background; a stop waits for its end.
func (cs *Connections) Background(do func()) { cs.background.Go(do) }

// Statuses tells how each channel's connection is, in the order of their names.
func (cs *Connections) Statuses() []channels.Status {
	var list []channels.Status
	for _, c := range cs.all() {
		if c.Attached() {
			status := c.supervisor.now().status()
			status.Name, status.Kind = c.Name, c.Kind
			list = append(list, status)
		}
	}
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// RefreshMenus has the menus be compared: what they show depends on who is an admin.
func (cs *Connections) RefreshMenus() {
	for _, c := range cs.all() {
		retry.Signal(c.menus)
	}
}

// Committed notifies who brings messages to conv.
func (cs *Connections) Committed(conv channels.Conversation) {
	if c := cs.Connection(conv.Channel); c != nil {
		c.Committed(conv)
	} else {
		cs.Wake(core.WakeAt(core.WakeDelivery, conv))
	}
}

// Decided has the questions of an approval that is not open any more say what was decided,
// and takes their buttons off, on the channels that this engine holds; best effort and in
// the background.
func (cs *Connections) Decided(ctx context.Context, approval int64) {
	cs.Active()
	list, err := cs.Store.Questions(ctx, approval)
	if err != nil {
		cs.Log.DebugContext(ctx, "questions stay", "approval_id", approval, "error", err)
	}
	for _, q := range list {
		if c := cs.Connection(q.Conversation.Channel); c != nil && c.Holds() {
			c.settleQuestion(&q)
		}
	}
}

// OnWake does what another engine's commit made possible in channels. It never blocks.
func (cs *Connections) OnWake(w core.Wake) {
	cs.Activity.Note()
	for _, c := range cs.all() {
		if w.Kind == core.WakeAll || w.Channel == c.Name {
			c.onWake(w)
		}
	}
}

// Wake notifies the other engines, if there are any.
func (cs *Connections) Wake(w core.Wake) {
	if cs.Wakes != nil {
		cs.Wakes.Wake(w)
	}
}
