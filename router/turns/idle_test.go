package turns_test

import (
	"testing"
	"time"
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
		r.Config.IdleTimeout = 2 * time.Second
		release := r.Brain.Held("long")
		r.Start()
		r.Platform.Say("c2", "bob", "long")
		r.Platform.Say("c1", "ada", "one")
		r.Await(1)
		r.Until("it rests", func() bool { return r.idled("play:c1") == 1 })
		time.Sleep(r.Config.IdleTimeout + time.Second)
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
	a.Config.IdleTimeout, b.Config.IdleTimeout = 6*time.Second, 6*time.Second
	a.Config.Workers = 1
	release := a.Brain.Held("busy")
	a.Start()
	a.Until("the channel is held", a.Connected)
	a.Platform.Say("c1", "ada", "one")
	a.Await(1)
	a.Begins("c2", "bob", "busy") // before another could take it
	b.Start()
	a.Platform.Say("c1", "ada", "two")
	a.Await(2)
	if b.Brain.Ran("two") != 1 {
		t.Fatal("the other engine did not work on it")
	}
	a.Until("it rests", func() bool { return a.idled("play:c1") == 1 })
	time.Sleep(a.Config.IdleTimeout + time.Second)
	if n := a.idled("play:c1"); n != 1 {
		t.Errorf("noted %d times", n)
	}
	release()
	a.Await(3)
}
