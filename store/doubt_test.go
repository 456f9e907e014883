package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/store/storetest"
)

// Connections come in doubt while others use them: what is under way ends well, or goes
// over another connection, and nobody hears of it.
func TestDoubtUnderLoad(t *testing.T) {
	t.Parallel()
	db := opened(t, storetest.PostgresURL(t), t.TempDir(), quiet)
	h := newHouse(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := range 12 {
		ref := h.begun(fmt.Sprint("c", i), fmt.Sprint(i))
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := h.r.Commit(h.ctx, ref, agent.Step{Calls: []agent.Call{{Step: fmt.Sprint(n), Role: "planner"}}}, nil); err != nil {
					t.Errorf("commit: %v", err)
				}
				if _, err := h.r.Turn(h.ctx, ref.TurnID, false); err != nil {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	for ctx.Err() == nil {
		db.Doubt()
		time.Sleep(100 * time.Millisecond)
	}
	all.Wait()
}
