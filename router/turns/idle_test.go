package turns_test

import (
	"testing"
	"time"

	"switchboard/router/routertest"
)

// idled lists the events that say that the session rests.
func (r *rig) idled(session string) (n int) {
	r.T.Helper()
	events, err := r.DB.Router().Events(r.T.Context(), session, 0, 1000)
	if err != nil {
		r.T.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "session" {
			n++
			if string(e.Data) != `{"state":"idle"}` {
				r.T.Errorf("%+v", e)
			}
		}
	}
	return n
}

func TestIdleSessionIsNotedOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.IdleTimeout = 600 * time.Millisecond
		release := r.Brain.Held("long")
		r.Start()
		r.Platform.Say("c2", "bob", "long")
		r.Platform.Say("c1", "ada", "one")
		r.Await(1)
		r.Until("it rests", func() bool { return r.idled("play:c1") == 1 })
		time.Sleep(time.Second)
		if a, b := r.idled("play:c1"), r.idled("play:c2"); a != 1 || b != 0 {
			t.Errorf("noted %d times, and %d times with a turn that runs", a, b)
		}
		release()
		r.Platform.Say("c1", "ada", "two")
		r.Platform.Say("c1", "ada", "/status") // something happens, though no turn runs
		r.Await(4)
		r.Until("both rest", func() bool { return r.idled("play:c1") == 2 && r.idled("play:c2") == 1 })
	})
}

// Both engines worked on the session; one of them notes that it rests.
func TestTwoEnginesNoteAnIdleSessionOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Config.IdleTimeout, b.Config.IdleTimeout = 3*time.Second, 3*time.Second
	a.Config.Workers = 1
	release := a.Brain.Held("busy")
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c1", "ada", "one")
	a.Await(1)
	time.Sleep(500 * time.Millisecond) // its one worker is free again, or the other engine would take what comes
	a.Begins("c2", "bob", "busy")
	a.Platform.Say("c1", "ada", "two")
	a.Await(2)
	if b.Brain.Ran("two") != 1 {
		t.Fatal("the other engine did not work on it")
	}
	a.Until("it rests", func() bool { return a.idled("play:c1") == 1 })
	time.Sleep(4 * time.Second)
	if n := a.idled("play:c1"); n != 1 {
		t.Errorf("noted %d times", n)
	}
	release()
	a.Await(3)
}
