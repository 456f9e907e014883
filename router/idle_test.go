package router_test

import (
	"testing"
	"time"
)

// idled lists the events that say that the session rests.
func (r *rig) idled(session string) (n int) {
	r.t.Helper()
	events, err := r.db.Router().Events(r.t.Context(), session, 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "session" {
			n++
			if string(e.Data) != `{"state":"idle"}` {
				r.t.Errorf("%+v", e)
			}
		}
	}
	return n
}

func TestIdleSessionIsNotedOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.IdleTimeout = 600 * time.Millisecond
		release := r.brain.held("long")
		r.start()
		r.platform.Say("c2", "bob", "long")
		r.platform.Say("c1", "ada", "one")
		r.await(1)
		r.until("it rests", func() bool { return r.idled("play:c1") == 1 })
		time.Sleep(time.Second)
		if a, b := r.idled("play:c1"), r.idled("play:c2"); a != 1 || b != 0 {
			t.Errorf("noted %d times, and %d times with a turn that runs", a, b)
		}
		release()
		r.platform.Say("c1", "ada", "two")
		r.platform.Say("c1", "ada", "/status") // something happens, though no turn runs
		r.await(4)
		r.until("both rest", func() bool { return r.idled("play:c1") == 2 && r.idled("play:c2") == 1 })
	})
}

// Both engines worked on the session; one of them notes that it rests.
func TestTwoEnginesNoteAnIdleSessionOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.config.IdleTimeout, b.config.IdleTimeout = 3*time.Second, 3*time.Second
	a.config.Workers = 1
	release := a.brain.held("busy")
	startBoth(a, b)
	a.platform.Say("c1", "ada", "one")
	a.await(1)
	time.Sleep(500 * time.Millisecond) // its one worker is free again, or the other engine would take what comes
	a.begins("c2", "bob", "busy")
	a.platform.Say("c1", "ada", "two")
	a.await(2)
	if b.brain.ran("two") != 1 {
		t.Fatal("the other engine did not work on it")
	}
	a.until("it rests", func() bool { return a.idled("play:c1") == 1 })
	time.Sleep(4 * time.Second)
	if n := a.idled("play:c1"); n != 1 {
		t.Errorf("noted %d times", n)
	}
	release()
	a.await(3)
}
