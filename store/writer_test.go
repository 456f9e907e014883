package store_test

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
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

// promise: L.commit-modes
func TestCommitModes(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	h := newHouse(t, db)
	mode := func(what string, want bool, do func()) {
		t.Helper()
		before := len(db.Batches())
		do()
		got := db.Batches()[before:]
		if len(got) != 1 || got[0].Full != want || got[0].Transactions != 1 {
			t.Errorf("%s: %+v, want one batch, full %v", what, got, want)
		}
	}
	var ref router.TurnRef
	step := func(s agent.Step) func() {
		return func() { t.Helper(); h.commit(ref, s, make([]router.Reply, len(s.Say))...) }
	}
	task := func(position int, kind agent.TaskType, s agent.TaskState) agent.Step {
		return agent.Step{Tasks: []agent.TaskChange{{Position: position, Type: kind, State: s}}}
	}
	mode("accept", true, func() { ref = h.begun("c", "1") })
	mode("call", false, step(agent.Step{Calls: []agent.Call{{Step: "a"}}}))
	mode("plan", false, step(agent.Step{Plan: &agent.PlanRow{Tasks: []agent.TaskRow{
		{Task: agent.Task{Type: agent.TaskExec}}, {Position: 1, Task: agent.Task{Type: agent.TaskTool}}, {Position: 2, Task: agent.Task{Type: agent.TaskMsg}},
	}}}))
	mode("start of exec", true, step(task(0, agent.TaskExec, agent.TaskRunning)))
	mode("end of exec", false, step(task(0, agent.TaskExec, agent.TaskDone)))
	mode("start of tool", true, step(task(1, agent.TaskTool, agent.TaskRunning)))
	mode("start of msg", false, step(task(2, agent.TaskMsg, agent.TaskRunning)))
	mode("end of turn", false, step(end("done", "answered")))
	var hold router.Hold
	mode("take channel", false, func() { hold = h.hold() })
	ref = h.begun("o", "3")
	mode("end that begins a part", true, func() { h.opens(ref, hold, "o", 0) })
	h.posts("c", "2", "a")
	var d *router.Delivery
	mode("sending", true, func() { d = h.begin(hold, "c") })
	mode("sent", false, func() { h.settle(hold, d, router.Settlement{State: router.DeliverySent}) })
	before := len(db.Batches())
	if d := h.begin(hold, "c"); d != nil || len(db.Batches()) != before {
		t.Errorf("a look at an empty conversation wrote: %+v", d)
	}
}

// promise: L.group-commit
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	if err := db.Write(t.Context(), false, "CREATE TABLE x (n INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	// The first holds the writer until the others are queued.
	queued, begun := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 6)
	wg.Go(func() {
		errs[0] = db.WriteFunc(t.Context(), false, func(exec func(string) error) error {
			close(begun)
			<-queued
			return exec("INSERT INTO x VALUES (0)")
		})
	})
	<-begun
	before := len(db.Batches())
	away, leave := context.WithCancel(t.Context())
	mid, cut := context.WithCancel(t.Context())
	defer cut()
	gone := make(chan struct{})
	boom := errors.New("boom")
	for i := 1; i < 6; i++ {
		wg.Go(func() {
			ctx, full := t.Context(), i == 1
			switch i {
			case 3:
				ctx = away
			case 4:
				ctx = mid
			}
			if i == 3 {
				defer close(gone)
			}
			errs[i] = db.WriteFunc(ctx, full, func(exec func(string) error) error {
				if err := exec(fmt.Sprintf("INSERT INTO x VALUES (%d)", i)); err != nil {
					return err
				}
				switch i {
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
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], boom) || !errors.Is(errs[3], context.Canceled) || errs[4] != nil || !errors.Is(errs[5], store.ErrConflict) {
		t.Errorf("%v", errs)
	}
	var rows []int64
	for n := range int64(110) {
		if k, _ := db.Count(t.Context(), "SELECT count(*) FROM x WHERE n = ?", n); k == 1 {
			rows = append(rows, n)
		}
	}
	if want := []int64{0, 1, 4, 101, 104}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	got := db.Batches()[before:]
	if len(got) != 2 || got[0] != (store.Batch{Full: false, Transactions: 1}) || got[1] != (store.Batch{Full: true, Transactions: 4}) {
		t.Errorf("batches %+v", got)
	}
	if strings.Contains(errs[5].Error(), "UNIQUE") {
		t.Errorf("internal text: %v", errs[5])
	}
}

func TestWriteAfterClose(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), true, "DELETE FROM turns"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}
