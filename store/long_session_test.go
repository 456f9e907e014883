//go:build long

package store_test

import (
	"slices"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/storetest"
)

// The 100,000th turn of a session is as fast as its 100th.
func TestLongSessionStaysFast(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		hold := h.Hold()
		for i, name := range []string{"young", "old"} {
			if err := h.message(hold, name, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		h.age("young", 100)
		for left := longTurns(t); left > 0; left -= 5000 { // no statement may take long
			h.age("old", min(left, 5000))
		}
		took := map[string][]time.Duration{}
		for i := range 60 { // in alternation: both meet the same moments
			if db.Kind() == "postgres" {
				h.Renew()
			}
			for j := range 2 {
				name := []string{"young", "old"}[(i+j)%2]
				began := time.Now()
				if err := h.message(hold, name, int64(10*(i+1)+len(name))); err != nil {
					t.Fatal(err)
				}
				took[name] = append(took[name], time.Since(began))
			}
		}
		young, old := quick(took["young"]), quick(took["old"])
		t.Logf("%s: %s in a session of 100 turns, %s in one of %d", db.Kind(), young, old, longTurns(t))
		if old > young*3/2+300*time.Microsecond {
			t.Errorf("a turn takes %s after %d others, and %s after 100", old, longTurns(t), young)
		}
	})
}

// quick is what a quarter of them took at most: what else the machine does then shows less than in the middle.
func quick(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/4]
}
