package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

func TestQueuedTransactionsShareOneCommit(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	run(t, db, "CREATE TABLE x (n INTEGER PRIMARY KEY)")
	// The first holds the writer until the others are queued.
	queued, begun := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 6)
	var first database.Commits // what was committed while the others waited
	wg.Go(func() {
		errs[0] = db.WriteFunc(t.Context(), database.Async, func(exec func(string) error) error {
			close(begun)
			<-queued
			return exec("INSERT INTO x VALUES (0)")
		})
	})
	<-begun
	before := db.Commits()
	away, leave := context.WithCancel(t.Context())
	mid, cut := context.WithCancel(t.Context())
	defer cut()
	gone := make(chan struct{})
	boom := errors.New("boom")
	for i := 1; i < 6; i++ {
		wg.Go(func() {
			ctx, mode := t.Context(), database.Async
			switch i {
			case 1:
				mode = database.Durable
			case 3:
				ctx = away
			case 4:
				ctx = mid
			}
			if i == 3 {
				defer close(gone)
			}
			errs[i] = db.WriteFunc(ctx, mode, func(exec func(string) error) error {
				if err := exec(fmt.Sprintf("INSERT INTO x VALUES (%d)", i)); err != nil {
					return err
				}
				switch i {
				case 1:
					first = db.Commits()
				case 2:
					return boom // its row goes, the others' stay
				case 4:
					cut() // the caller goes away in the middle
				case 5:
					return exec("INSERT INTO x VALUES (0)")
				}
				return exec(fmt.Sprintf("INSERT INTO x VALUES (%d)", i+100))
			})
		})
	}
	for db.Queued() < 5 {
		time.Sleep(time.Millisecond)
	}
	leave()
	<-gone
	close(queued)
	wg.Wait()
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], boom) || !errors.Is(errs[3], context.Canceled) || errs[4] != nil || !errors.Is(errs[5], core.ErrConflict) {
		t.Errorf("%v", errs)
	}
	var rows []int64
	for n := range int64(110) {
		if k, _ := storetest.Count(t.Context(), db, "SELECT count(*) FROM x WHERE n = ?", n); k == 1 {
			rows = append(rows, n)
		}
	}
	if want := []int64{0, 1, 4, 101, 104}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	held := database.Commits{All: before.All + 1, Synced: before.Synced, Transactions: before.Transactions + 1}
	all := database.Commits{All: before.All + 2, Synced: before.Synced + 1, Transactions: before.Transactions + 5}
	if got := db.Commits(); first != held || got != all {
		t.Errorf("commits %+v, then %+v, want %+v and %+v", first, got, held, all)
	}
	if strings.Contains(errs[5].Error(), "UNIQUE") {
		t.Errorf("internal text: %v", errs[5])
	}
}

// A result comes while a commit with much to do is under way. It is recorded before the
// rest of that is done.
func TestResultsGoAheadOfNewWork(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	h := storetest.NewHouse(t, db)
	h.Posts("c", "1", "a")
	hold := h.Hold()
	d := h.Begin(hold, "c")
	begun, queued := make(chan struct{}), make(chan struct{})
	busy, recorded := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	work := func(do func() error) {
		wg.Go(func() {
			if err := db.WriteFunc(h.Ctx, database.Durable, func(exec func(string) error) error {
				return errors.Join(exec("UPDATE people SET role = role"), do())
			}); err != nil {
				t.Error(err)
			}
		})
	}
	waiting := func(n int) {
		for db.Queued() < n {
			time.Sleep(time.Millisecond)
		}
	}
	work(func() error { close(begun); <-queued; return nil })
	<-begun
	work(func() error { close(busy); waiting(1); time.Sleep(10 * time.Millisecond); return nil })
	waiting(1) // the order of the two is that in which they run
	work(func() error {
		select {
		case <-recorded:
			return nil
		case <-time.After(time.Minute):
			return errors.New("what was sent is not recorded yet")
		}
	})
	waiting(2)
	close(queued)
	<-busy
	wg.Go(func() {
		h.Settle(hold, d, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "m1"})
		close(recorded)
	})
	wg.Wait()
}

// The disk cannot sync: what was committed is committed, and is not sent on the
// strength of it.
func TestNothingIsBegunWithoutASync(t *testing.T) {
	t.Parallel()
	h := storetest.NewHouse(t, storetest.SQLite(t))
	hold := h.Hold()
	ref := h.Begun("c", "1")
	h.Begun("d", "2")
	defer h.DB.BreakSync()()
	step, reply := opening(hold, "c")
	if _, err := h.Router.Commit(h.Ctx, ref, step, []outbox.Reply{reply}); err != nil || reply.Open.Begun != nil {
		t.Errorf("%v, begun %+v", err, reply.Open.Begun)
	}
	if _, err := h.Router.Commit(h.Ctx, ref, agent.Step{}, nil); err == nil {
		t.Error("the turn did not end")
	}
	n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM deliveries WHERE state = 'pending' AND tries = 0")
	if err != nil || n != 2 {
		t.Errorf("%d parts wait, %v", n, err)
	}
}
