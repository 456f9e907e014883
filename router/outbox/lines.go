package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/router/core"
)

// lookBusy and lookIdle are how often the ledger is looked at without being woken, in
// trouble and without.
const (
	lookBusy = time.Second
	lookIdle = 15 * time.Second
)

// Deps are what lines are made of.
type Deps struct {
	// StaleAfter is how late a part has to be to say so.
	StaleAfter func() time.Duration
	// MaxParts is how many messages one answer may become; 0: any number.
	MaxParts func() int
	People   interface {
		Named(name string) *core.Person
		Identified(identities ...string) *core.Person
	}
	Engine Engine
	Ledger interface {
		Deliveries
		Drafts
		ShownTurns
		Notices
	}
	Wakes core.Wakes  // nil: no other engine shares the database
	Files Attachments // nil: nothing is sent along
	// Mask takes known secrets out of what is said.
	Mask *secrets.Masker
	Log  *slog.Logger
	// Accept takes in what comes from a channel.
	Accept func(context.Context, []channels.Event) ([]channels.Receipt, error)
	// Marks are the marks that a channel's events brought.
	Marks func(ctx context.Context, channel string) ([]channels.Mark, error)
	// Held looks, once a channel's lease was taken, at what other engines did.
	Held func(context.Context)
	// Menu is the menu of commands of a channel, by its name and kind.
	Menu func(name, kind string) []channels.CommandSet
	// Targets are where notices of a kind go, as [notify] has it; nil, or none: to each
	// admin's last used direct chat.
	Targets func(NoticeKind) []string
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

// Lines are the channels of an engine: their connections, and all that is sent there.
type Connections struct {
	Deps
	asides sync.WaitGroup  // what is shown beside turns and deliveries, best effort
	began  time.Time       // when New was called
	work   context.Context // of sends

	mu      sync.Mutex
	list    map[string]*Connection // by channel name; also those that were detached
	serving context.Context        // Run's; nil before it
	running sync.WaitGroup
}

// New returns lines whose sends end with work; I/O starts in Run.
func New(work context.Context, deps Deps) *Connections {
	return &Connections{Deps: deps, list: map[string]*Connection{}, began: time.Now(), work: work}
}

// Attach serves a channel from now on, in place of the one of its name if there is one: what
// that has under way comes to its end first, which is not waited for. Attached again, a
// channel is of the kind that it was.
func (ls *Connections) Attach(c Rated) (*Connection, error) {
	limits, err := newLimits(c.Rate)
	if err != nil {
		return nil, fmt.Errorf("channels.%s.rate: %w", c.Name(), err)
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.list[c.Name()]
	switch {
	case l == nil:
		l = newConnection(ls, c.Channel, limits)
		ls.list[l.Name] = l
		ls.start(l)
	case l.Kind != c.Kind():
		return nil, fmt.Errorf("channels.%s.kind: it was %s since the program began, and is %s after a restart", l.Name, l.Kind, c.Kind())
	default:
		l.limits.adapt(limits)
		l.serve(c.Channel)
	}
	return l, nil
}

// start serves a line, if the others are. Called under the lock.
func (ls *Connections) start(l *Connection) {
	if ls.serving != nil && ls.serving.Err() == nil {
		ls.running.Go(func() { l.run(ls.serving) })
	}
}

// Detach serves a channel no more. It does not wait: nothing more comes in, what is due is
// sent for a while, the send under way is settled, and the lease is given back.
func (ls *Connections) Detach(name string) {
	if l := ls.Connection(name); l != nil {
		l.serve(nil)
	}
}

// SetRate changes the rate of the settings.
func (l *Connection) SetRate(rate string) error {
	limits, err := newLimits(rate)
	if err != nil {
		return fmt.Errorf("channels.%s.rate: %w", l.Name, err)
	}
	l.limits.adapt(limits)
	return nil
}

// all are the lines, also of channels that were detached.
func (ls *Connections) all() []*Connection {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Values(ls.list))
}

// Line is the channel of that name, also one that was detached; nil: there was none.
func (ls *Connections) Connection(name string) *Connection {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.list[name]
}

// Run serves every channel until ctx ends, and what is shown beside them.
func (ls *Connections) Run(ctx context.Context) {
	ls.mu.Lock()
	ls.serving = ctx
	for _, l := range ls.list {
		ls.start(l)
	}
	ls.mu.Unlock()
	<-ctx.Done()
	ls.mu.Lock() // who starts a line looks at ctx under it
	ls.mu.Unlock()
	ls.running.Wait()
	ls.asides.Wait()
}

// Flush waits until what is due was sent, until ctx ends at most.
func (ls *Connections) Flush(ctx context.Context) {
	for _, l := range ls.all() {
		if s := l.senderNow(); s != nil {
			s.flush(ctx)
		}
	}
}

// Beside does something best effort, in the background; a stop waits for its end.
func (ls *Connections) Beside(do func()) { ls.asides.Go(do) }

// Committed wakes who brings messages to conv.
func (ls *Connections) Committed(conv channels.Conversation) {
	if l := ls.Connection(conv.Channel); l != nil {
		l.Committed(conv)
	} else {
		ls.Wake(core.WakeAt(core.WakeDelivery, conv))
	}
}

// OnWake does what another engine's commit made possible in channels. It never blocks.
func (ls *Connections) OnWake(w core.Wake) {
	for _, l := range ls.all() {
		if w.Kind == core.WakeAll || w.Channel == l.Name {
			l.onWake(w)
		}
	}
}

func (l *Connection) onWake(w core.Wake) {
	switch w.Kind {
	case core.WakeAll:
		l.notify(channels.Conversation{})
		l.presenter.onWake(w)
	case core.WakeDelivery, core.WakeEvents:
		l.notify(w.At())
	case core.WakeDraft, core.WakeTyping:
		l.presenter.onWake(w)
	}
}

// Wake wakes the other engines, if there are any.
func (ls *Connections) Wake(w core.Wake) {
	if ls.Wakes != nil {
		ls.Wakes.Wake(w)
	}
}

// An Engine is this program's row among the owners.
type Engine interface {
	ID() int64
	// Safe says whether the leases surely still hold, by the wall clock; asked
	// directly before each side effect.
	Safe() bool
	// Guard returns a context for one side effect, which ends with the cause
	// tools.ErrUnsafe before the leases could be somebody else's. The caller calls the
	// function when the effect is over.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}
