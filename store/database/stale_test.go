package database_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// Connections become stale while others use them: what is under way ends well, or goes
// over another connection, and nothing breaks.
func TestStaleConnectionsUnderLoadBreakNothing(t *testing.T) {
	t.Parallel()
	db := storetest.Opened(t, storetest.PostgresURL(t), t.TempDir(), quiet)
	h := storetest.NewHouse(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := range 12 {
		ref := h.Begun(fmt.Sprint("c", i), fmt.Sprint(i))
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, err := h.Router.Commit(h.Ctx, ref, agent.Step{Calls: []agent.Call{{Step: fmt.Sprint(n), Role: "planner"}}}, nil)
				if err == nil {
					_, err = h.Router.Turn(h.Ctx, ref.TurnID, false)
				}
				if err != nil && !errors.Is(err, database.ErrUnavailable) { // each of its tries may find its own stale on a busy machine
					t.Error(err)
				}
			}
		})
	}
	for ctx.Err() == nil {
		db.MarkStale()
		time.Sleep(100 * time.Millisecond)
	}
	all.Wait()
	for i := range 12 {
		if _, err := h.Router.Turns(h.Ctx, storetest.All, "", 10); err != nil {
			t.Errorf("look %d afterwards: %v", i, err)
		}
	}
}
