package store_test

import (
	"context"
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// An engine that stands still in the middle of a transaction keeps its locks from the
// others for ten seconds at most; its transaction is undone and begun again.
func TestStandstillInATransactionIsUndoneAndBegunAgain(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	h.Begun("c", "1")
	const touch = "UPDATE sessions SET summary = summary"
	locked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	runs := 0
	go func() {
		ended <- storetest.WriteFunc(t.Context(), db, true, func(exec func(string) error) error {
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
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := storetest.Write(patient, db, touch); err != nil {
		t.Errorf("the other engine: %v", err)
	}
	took := time.Since(began)
	if took < 5*time.Second {
		t.Errorf("the lock was there for %s", took)
	}
	testkit.Within(t, took, 30*time.Second)
	close(goOn)
	if err := <-ended; err != nil || runs != 2 {
		t.Errorf("the transaction that stood still ran %d times, %v", runs, err)
	}
}

// An engine that stands still with one session locked keeps no other session from the
// living, and a batch that holds a message of that session for ten seconds at most.
func TestStandstillKeepsNoOtherSession(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	locked := h.Accept(storetest.Entry("c", "1", "of the locked session"))[0]
	other := h.Accept(storetest.Entry("d", "2", "of another"))[0]
	holds, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		once := true
		ended <- storetest.WriteFunc(context.Background(), db, true, func(exec func(string) error) error {
			err := exec("SELECT 1 FROM sessions WHERE id = " + storetest.NameOf(locked.SessionID) + " FOR UPDATE")
			if err == nil && once {
				once = false
				close(holds)
				<-goOn
			}
			return err
		})
	}()
	<-holds
	defer func() {
		close(goOn)
		<-ended
	}()
	began := time.Now()
	if list := h.Claim(1); len(list) != 1 || list[0].TurnID != other.TurnID {
		t.Errorf("claimed %+v", list)
	}
	if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE id = "+storetest.NameOf(locked.SessionID)+" FOR UPDATE SKIP LOCKED) AS s"); n != 0 || err != nil {
		t.Errorf("a claim waited until the session was not locked any more (%v)", err)
	}
	h.Accept(storetest.Entry("e", "3", "of a third"), storetest.Entry("c", "4", "more"))
	took := time.Since(began)
	if took < 5*time.Second {
		t.Errorf("the session was locked for %s", took)
	}
	testkit.Within(t, took, 30*time.Second)
	if list := h.Claim(1); len(list) != 1 || list[0].TurnID != locked.TurnID {
		t.Errorf("claimed %+v", list)
	}
}

// A session that was locked for a moment is claimed all the same, for whoever had it locked
// may not know that it waits.
func TestSessionLockedForAMomentIsClaimed(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	got := 0
	for i := 0; i < 100 && got == 0; i++ { // a slow machine misses some
		session := h.Accept(storetest.Entry(storetest.NameOf(int64(i)), storetest.NameOf(int64(i)), "hello"))[0].SessionID
		holds, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- storetest.WriteFunc(context.Background(), db, false, func(exec func(string) error) error {
				err := exec("SELECT 1 FROM sessions WHERE id = " + storetest.NameOf(session) + " FOR UPDATE")
				close(holds)
				time.Sleep(20 * time.Millisecond)
				return err
			})
		}()
		<-holds
		began := time.Now()
		if n := len(h.Claim(1)); time.Since(began) >= 50*time.Millisecond { // a slow machine may come when the lock is free
			got += n
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if got == 0 {
		t.Error("none was claimed after a wait")
	}
}
