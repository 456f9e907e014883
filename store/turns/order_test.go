package turns_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/store/storetest"
)

// Two engines that take what they can get never run two turns of one session at
// once, nor one after a later one, and neither gets everything.
func TestTurnsKeepTheirOrderAcrossEngines(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	engines := []*house{newHouse(t, db), newHouse(t, db)}
	const sessions, turns = 6, 8
	for n := range turns {
		for s := range sessions {
			engines[0].Accept(storetest.Entry(fmt.Sprint("c", s), fmt.Sprint(s, "-", n), ""))
		}
	}
	var mu sync.Mutex
	running, order, share := map[int64]int64{}, map[int64][]int64{}, make([]int, len(engines))
	begin := func(who int, ref core.TurnRef) {
		mu.Lock()
		defer mu.Unlock()
		if other := running[ref.SessionID]; other != 0 {
			t.Errorf("session %d: turn %d begins while %d runs", ref.SessionID, ref.TurnID, other)
		}
		running[ref.SessionID] = ref.TurnID
		order[ref.SessionID] = append(order[ref.SessionID], ref.TurnID)
		share[who]++
	}
	ends := func(ref core.TurnRef) {
		mu.Lock()
		defer mu.Unlock()
		delete(running, ref.SessionID)
	}
	done := func() int {
		mu.Lock()
		defer mu.Unlock()
		return share[0] + share[1]
	}
	// othersTurn waits until the other engine has run something.
	othersTurn := func(who int) bool {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			mu.Lock()
			n := share[1-who]
			mu.Unlock()
			if n > 0 {
				return true
			}
		}
		return false
	}
	var all sync.WaitGroup
	for who, h := range engines {
		all.Go(func() {
			for done() < sessions*turns && !t.Failed() && h.Ctx.Err() == nil {
				for _, c := range h.Claim(sessions) {
					// The next turn begins in the commit that ends the one before; sometimes the
					// session is given back with it.
					for next, n := &c, 0; next != nil; n++ {
						ref := next.TurnRef
						if n == 1 {
							if err := h.Router.ReleaseSession(h.Ctx, ref); err != nil {
								t.Errorf("give back: %v", err)
							}
							if !othersTurn(who) {
								t.Errorf("engine %d gets nothing of what engine %d gave back", 1-who, who)
								return
							}
							break
						}
						begin(who, ref)
						time.Sleep(time.Millisecond)
						ends(ref)
						var err error
						if next, err = h.Router.Commit(h.Ctx, ref, storetest.End("done", "answered"), nil); err != nil {
							t.Errorf("commit: %v", err)
							return
						}
					}
				}
			}
		})
	}
	all.Wait()
	for session, list := range order {
		if !slices.IsSorted(list) {
			t.Errorf("session %d ran %v", session, list)
		}
	}
	if share[0] == 0 || share[1] == 0 {
		t.Errorf("the engines ran %v: one of them everything", share)
	}
}
