package turns_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/routertest"
)

// A ledger whose first answer to a session's being given back comes late: it is done,
// and others go on with the session already.
type lateBack struct {
	router.Store
	once sync.Once
	back chan struct{} // closed when it is done
	late chan struct{} // closed when the answer may come
}

func (l *lateBack) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	err := l.Store.ReleaseSession(ctx, ref)
	l.once.Do(func() {
		close(l.back)
		<-l.late
	})
	return err
}

// A mind whose turn of "work" is claimed a second time by the engine that ran it: what
// its first and its second run do is the test's, later ones answer.
type twice struct {
	first, second func(ctx context.Context) error
	runs          atomic.Int32
	now, most     atomic.Int32 // runs at once
	pokes         atomic.Int32
}

func (w *twice) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	p := routertest.NewPlay(ctx, turn, j)
	if turn.Message.Text == "poke" {
		if w.pokes.Add(1) == 1 {
			return agent.ErrReleased // for which the engine looks for work
		}
		return p.Answer("poked")
	}
	now := w.now.Add(1)
	defer w.now.Add(-1)
	for most := w.most.Load(); now > most && !w.most.CompareAndSwap(most, now); most = w.most.Load() {
	}
	var err error
	switch w.runs.Add(1) {
	case 1:
		err = w.first(ctx)
	case 2:
		err = w.second(ctx)
	}
	switch {
	case errors.Is(context.Cause(ctx), agent.ErrCancelled):
		return p.Cancelled()
	case err != nil:
		return err
	}
	return p.Answer("worked")
}

func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return agent.ErrReleased
}

// claimedTwice lets the turn be claimed again before its first run heard that its session
// is given back, and lets it hear that then.
func (r *rig) claimedTwice(w *twice) {
	r.T.Helper()
	l := &lateBack{back: make(chan struct{}), late: make(chan struct{})}
	r.Store = func(of router.Store) router.Store { l.Store = of; return l }
	w.first = func(context.Context) error { return agent.ErrReleased }
	r.Agent = w
	hear := sync.OnceFunc(func() { close(l.late) })
	r.Start()
	r.T.Cleanup(hear) // or the engine does not end
	r.Platform.Say("c1", "ada", "work")
	<-l.back
	r.Platform.Say("c2", "bob", "poke")
	r.Until("it runs again", func() bool { return w.runs.Load() == 2 })
	hear()
	time.Sleep(100 * time.Millisecond) // the first run is over
}

// cancelled asks for the turn to be stopped.
func (r *rig) cancelled(w *twice) {
	r.T.Helper()
	r.Platform.Say("c1", "ada", "/cancel")
	r.Until("it is cancelled", func() bool { return r.stateOf("work") == "cancelled" })
	if w.runs.Load() != 2 || w.most.Load() != 1 {
		r.T.Errorf("cancelled after %d runs, %d of them at once", w.runs.Load(), w.most.Load())
	}
}

// stateOf is the state of the turn of that message.
func (r *rig) stateOf(text string) string {
	r.T.Helper()
	for _, turn := range r.Turns() {
		if turn.Text == text {
			return turn.State
		}
	}
	return ""
}

// A turn that its own engine claimed again, before the answer to its being handed back
// was heard, is stopped like any other and not given back while it runs.
func TestTurnClaimedTwiceIsStopped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := &twice{second: untilStopped}
		r.claimedTwice(w)
		r.cancelled(w)
	})
}

// A turn that its own engine claimed again and that breaks off then is tried again.
func TestTurnClaimedTwiceThatBreaksOffIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		fail := make(chan struct{})
		w := &twice{second: func(ctx context.Context) error {
			select {
			case <-fail:
			case <-ctx.Done():
			}
			return errors.New("a fault")
		}}
		r.claimedTwice(w)
		close(fail)
		r.Until("it is answered", func() bool { return r.stateOf("work") == "done" })
		if w.runs.Load() != 3 || w.most.Load() != 1 {
			t.Errorf("%d runs, %d of them at once", w.runs.Load(), w.most.Load())
		}
	})
}

// A turn whose lease went, and which its own engine claims again while it still works
// on it, is worked on again only when the work under the old lease is over; and it is the
// new run that is stopped.
func TestTurnIsNeverRunTwiceAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var cause atomic.Value
		w := &twice{second: untilStopped, first: func(ctx context.Context) error {
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			time.Sleep(300 * time.Millisecond) // its effects end
			return agent.ErrReleased
		}}
		r.Agent = w
		r.Start()
		r.Platform.Say("c1", "ada", "work")
		r.Until("it runs", func() bool { return w.runs.Load() == 1 })
		ledger := r.DB.Router()
		held, err := ledger.Held(t.Context(), r.Engine.ID())
		if err != nil || len(held) != 1 {
			t.Fatalf("held %+v, %v", held, err)
		}
		if err := ledger.ReleaseSession(t.Context(), held[0].TurnRef); err != nil {
			t.Fatal(err)
		}
		r.Platform.Say("c2", "bob", "poke")
		r.Until("it runs again", func() bool { return w.runs.Load() == 2 })
		if err, _ := cause.Load().(error); !errors.Is(err, agent.ErrReleased) {
			t.Errorf("the first run was ended by %v", err)
		}
		time.Sleep(50 * time.Millisecond) // the first run is forgotten
		r.cancelled(w)
	})
}
