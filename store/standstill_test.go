package store_test

import (
	"testing"
	"time"

	"switchboard/store/storetest"
)

// An engine that stands still in the middle of a transaction keeps its locks from the
// others for ten seconds at most; its transaction is undone and begun again.
func TestStandstillInATransaction(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	h.begun("c", "1")
	const touch = "UPDATE sessions SET summary = summary"
	locked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	runs := 0
	go func() {
		ended <- db.WriteFunc(t.Context(), true, func(exec func(string) error) error {
			if err := exec(touch); err != nil {
				return err
			}
			if runs++; runs == 1 {
				close(locked)
				<-goOn
			}
			return exec(touch)
		})
	}()
	<-locked
	began := time.Now()
	if err := db.Write(t.Context(), true, touch); err != nil {
		t.Errorf("the other engine: %v", err)
	}
	if took := time.Since(began); took < 5*time.Second || took > 15*time.Second {
		t.Errorf("the lock was there for %s", took)
	}
	close(goOn)
	if err := <-ended; err != nil || runs != 2 {
		t.Errorf("the transaction that stood still ran %d times, %v", runs, err)
	}
}
