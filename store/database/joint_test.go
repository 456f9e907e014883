package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/store/storetest"
)

// Steps that wait on PostgreSQL go together: of those that come while others are
// under way, the bad ones fail alone, and one whose caller went away is never run.
func TestJoinedStepsFailAlone(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	db := storetest.Opened(t, url, t.TempDir(), quiet)
	h := storetest.NewHouse(t, db)
	const busy, turns = 2, 20
	refs := make([]core.TurnRef, busy+turns)
	for i := range refs {
		refs[i] = h.Begun(fmt.Sprint("c", i), fmt.Sprint(i))
	}
	unlock := lockSessions(t, url, refs[:busy])
	type outcome struct {
		i   int
		err error
	}
	outcomes := make(chan outcome, len(refs))
	commit := func(ctx context.Context, i int, step agent.Step) {
		go func() {
			_, err := h.Router.Commit(ctx, refs[i], step, nil)
			outcomes <- outcome{i, err}
		}()
	}
	for i := range busy { // these wait for the lock, each in a call of its own, and the others for these
		commit(h.Ctx, i, storetest.End("done", "answered"))
		until(t, func() bool { return db.Joining() == i+1 && db.Waiting() == 0 })
	}
	const fenced, bad, gone = busy + 3, busy + 7, busy + 11
	refs[fenced].Fence--
	going, leave := context.WithCancel(h.Ctx)
	for i := busy; i < len(refs); i++ {
		ctx, step := h.Ctx, storetest.End("done", "answered")
		switch i {
		case bad:
			step.Tasks = []agent.TaskChange{{Type: agent.TaskMsg, State: agent.TaskDone}} // there is no such task
		case gone:
			ctx = going
		}
		commit(ctx, i, step)
	}
	until(t, func() bool { return db.Waiting() == turns })
	leave()
	if got := <-outcomes; got.i != gone || !errors.Is(got.err, context.Canceled) {
		t.Errorf("the first to end: %+v", got)
	}
	unlock()
	for range len(refs) - 1 {
		got := <-outcomes
		var want error
		switch got.i {
		case fenced:
			want = core.ErrFenced
		case bad:
			want = core.ErrConflict
		}
		if !errors.Is(got.err, want) || want == nil && got.err != nil {
			t.Errorf("step %d: %v, want %v", got.i, got.err, want)
		}
	}
	if n, err := storetest.Count(h.Ctx, db, "SELECT count(*) FROM turns WHERE state = 'done'"); n != busy+turns-3 || err != nil {
		t.Errorf("%d turns done, %v", n, err)
	}
	if n, err := storetest.Count(h.Ctx, db, "SELECT count(*) FROM turns WHERE state = 'running'"); n != 3 || err != nil {
		t.Errorf("%d turns running, %v", n, err)
	}
}

// Steps that have nothing wrong share their round trips.
func TestJoinedStepsShareRoundTrips(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	db, d := counted(t, url)
	h := storetest.NewHouse(t, db)
	const busy, turns = 2, 20
	refs := make([]core.TurnRef, busy+turns)
	for i := range refs {
		refs[i] = h.Begun(fmt.Sprint("c", i), fmt.Sprint(i))
	}
	unlock := lockSessions(t, url, refs[:busy])
	var all sync.WaitGroup
	for i, ref := range refs {
		all.Go(func() {
			if _, err := h.Router.Commit(h.Ctx, ref, storetest.End("done", "answered"), nil); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
		if i < busy {
			until(t, func() bool { return db.Joining() == i+1 && db.Waiting() == 0 })
		}
	}
	until(t, func() bool { return db.Waiting() == turns })
	before := d.writes.Load()
	unlock()
	all.Wait()
	if got := d.writes.Load() - before; got > busy {
		t.Errorf("%d round trips for %d steps", got, turns)
	}
}

// lockSessions locks the sessions of refs from elsewhere until unlock is called.
func lockSessions(t *testing.T, url string, refs []core.TurnRef) (unlock func()) {
	t.Helper()
	other, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := other.BeginTx(t.Context(), nil)
	for _, ref := range refs {
		if err == nil {
			_, err = lock.ExecContext(t.Context(), "SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", ref.SessionID)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock = sync.OnceFunc(func() {
		if err := errors.Join(lock.Rollback(), other.Close()); err != nil {
			t.Errorf("unlock: %v", err)
		}
	})
	t.Cleanup(unlock)
	return unlock
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that")
		}
	}
}
