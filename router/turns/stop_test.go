package turns_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/intake"
	"switchboard/router/routertest"
)

// A ledger whose answer to a commit of what came in takes long.
type lateAccept struct {
	router.Store
	committed, answer chan struct{}
}

func (l lateAccept) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	list, err := l.Store.Accept(ctx, owner, entries)
	close(l.committed)
	<-l.answer
	return list, err
}

// A ledger that answers nothing that came in until its caller goes away.
type hangingAccept struct {
	router.Store
	asked, over chan struct{}
}

func (l hangingAccept) Accept(ctx context.Context, _ int64, _ []intake.Entry) ([]intake.Accepted, error) {
	close(l.asked)
	select {
	case <-ctx.Done():
	case <-l.over:
	}
	return nil, context.Canceled
}

// A database that hangs does not keep an engine that stops for longer than its grace.
func TestShutdownDoesNotWaitForAHangingAccept(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := hangingAccept{asked: make(chan struct{}), over: make(chan struct{})}
		r.Store = func(of router.Store) router.Store { l.Store = of; return l }
		r.Start()
		accepted := make(chan error, 1)
		go func() {
			_, err := r.Router.Accept(context.Background(), []channels.Event{routertest.Event(1, "c1", "ada", "hello")})
			accepted <- err
		}()
		<-l.asked
		r.Stop()
		select {
		case <-r.Done:
		case <-time.After(20 * time.Second):
			t.Error("the engine waits for its database for longer than its grace")
			close(l.over)
		}
		if err := <-accepted; err == nil {
			t.Error("taken, though the database never answered")
		}
	})
}

// An Accept on its way when the engine stops may begin a turn. It is waited for, and so
// is the turn, whose command takes a while to die: the leases go after that.
func TestShutdownWaitsForAnAcceptAndItsTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := lateAccept{committed: make(chan struct{}), answer: make(chan struct{})}
		r.Store = func(of router.Store) router.Store { l.Store = of; return l }
		var began, dead atomic.Bool
		r.Brain.Think = func(ctx context.Context, _ agent.Turn) (string, error) {
			began.Store(true)
			<-ctx.Done()
			time.Sleep(300 * time.Millisecond)
			dead.Store(true)
			return "", nil
		}
		r.Start()
		accepted := make(chan error, 1)
		go func() {
			_, err := r.Router.Accept(context.Background(), []channels.Event{routertest.Event(1, "c1", "ada", "hello")})
			accepted <- err
		}()
		<-l.committed
		r.Stop()
		time.Sleep(200 * time.Millisecond) // nothing else is there to be waited for
		select {
		case <-r.Done:
			t.Error("the engine ended with an Accept on its way")
		default:
		}
		close(l.answer)
		if err := <-accepted; err != nil {
			t.Error(err)
		}
		<-r.Done
		if began.Load() && !dead.Load() {
			t.Error("the engine ended before what its turn ran")
		}
		if _, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(2, "c1", "ada", "too late")}); err == nil {
			t.Error("an event was taken after the end")
		}
		if turns := r.Turns(); len(turns) != 1 || turns[0].State != "running" {
			t.Errorf("%+v; a turn that was handed back is running", turns)
		}
	})
}
