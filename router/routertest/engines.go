package routertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/storetest"
)

// Twins are two rigs on one PostgreSQL database and one platform, each with a
// connection pool and an engine of its own. Whoever is started first holds the channel.
func Twins[R Own](t *testing.T) (a, b *R) {
	t.Helper()
	address := storetest.MigratedURL(t)
	open := func() *Rig {
		r := newRig(t, storetest.Opened(t, address, "", slog.New(slog.DiscardHandler)))
		r.Address = address
		return r
	}
	one, other := open(), open()
	other.Platform = one.Platform
	return &R{one}, &R{other}
}

// StartBoth starts a, which takes the channel, and then b.
func StartBoth(a, b *Rig) {
	a.T.Helper()
	a.Start()
	a.Until("the channel is held", a.Connected)
	b.Start()
}

// StartBusy is StartBoth once a works on what somebody wrote, which b cannot take then.
func StartBusy(a, b *Rig, conv, user, text string) {
	a.T.Helper()
	a.Start()
	a.Until("the channel is held", a.Connected)
	a.Begins(conv, user, text)
	b.Start()
}

// Connected says that this rig's engine holds the channel and speaks with the platform.
func (r *Rig) Connected() bool {
	return slices.ContainsFunc(r.Router.Connections.Statuses(), func(s channels.Status) bool {
		return s.Name == r.Name && s.State == channels.StateConnected
	})
}

// Deaf are wakes that all get lost.
func Deaf(int64) core.Wakes { return lostWakes{} }

type lostWakes struct{}

func (lostWakes) Wake(core.Wake) {}

func (lostWakes) Listen(ctx context.Context, _ func(core.Wake)) { <-ctx.Done() }

// A WokenBy has the wakes of an engine, and counts those that it hears, by their kind.
type WokenBy struct {
	core.Wakes
	mu    sync.Mutex
	heard map[core.WakeKind]int
}

// Listens has the wakes counted that this rig's engine hears; before it is started.
func (r *Rig) Listens() *WokenBy {
	l, wakes := &WokenBy{heard: map[core.WakeKind]int{}}, r.Wakes
	r.Wakes = func(owner int64) core.Wakes { l.Wakes = wakes(owner); return l }
	return l
}

// Listen implements core.Wakes.
func (l *WokenBy) Listen(ctx context.Context, onWake func(core.Wake)) {
	l.Wakes.Listen(ctx, func(w core.Wake) {
		onWake(w)
		l.mu.Lock()
		l.heard[w.Kind]++
		l.mu.Unlock()
	})
}

// Begun says that it listens: whoever begins to is told to look at everything.
func (l *WokenBy) Begun() bool { return l.Count(core.WakeAll) > 0 }

// Count is how many wakes of one kind it heard.
func (l *WokenBy) Count(kind core.WakeKind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[kind]
}

// ErrAnswerLost is what a database says that committed and lost the connection before it could say so.
var ErrAnswerLost = errors.New("the connection was lost")

// ErrDead is what a database says to a program that is gone.
var ErrDead = fmt.Errorf("dead: %w", core.ErrFenced)
