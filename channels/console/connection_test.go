package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The engine goes away while a turn runs and comes back: the answer is shown once.
func TestPipeOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	var e *engine
	e = newEngine(t, func(text string, u *turn) {
		u.say("first", false, false)
		e.restart(t)
		u.answer("second")
	})
	out, errs, err := inPipe(t, e, "a\n", nil)
	if err != nil || out != "first\nsecond\n" {
		t.Errorf("%q, %v", out, err)
	}
	if want := "connection to the engine lost, reconnecting…\nconnected again\n"; errs != want {
		t.Errorf("stderr: %q", errs)
	}
}

// The answer to a message is lost with the engine that took it: the next one knows
// the message, and its turn is found.
func TestPipeSendsUnderTheSameKey(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	e.mute = 2
	out, errs, err := inPipe(t, e, "a\nb\n/help\n", func(o *Options) { o.JSON = false })
	if err != nil || out != "you said: a\nyou said: b\ncommand /help\n" {
		t.Errorf("%q, %v", out, err)
	}
	if want := "connection to the engine lost, reconnecting…\nconnected again\n"; errs != want {
		t.Errorf("stderr: %q", errs)
	}
	if diff := cmp.Diff([]string{"a", "b", "/help"}, e.said()); diff != "" {
		t.Error(diff)
	}
}

func TestPipeSendsACommandUnderTheSameKey(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	e.mute = 1
	out, _, err := inPipe(t, e, "/help\n", nil)
	if err != nil || out != "command /help\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// While no engine is there, what is written waits.
func TestPipeWaitsForAnEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	e.away.Store(true)
	var back sync.WaitGroup
	back.Go(func() {
		time.Sleep(300 * time.Millisecond)
		e.away.Store(false)
	})
	defer back.Wait()
	out, errs, err := inPipe(t, e, "a\n", nil)
	if err != nil || out != "you said: a\n" {
		t.Errorf("%q, %v", out, err)
	}
	if want := "connection to the engine lost, reconnecting…\nconnected again\n"; errs != want {
		t.Errorf("stderr: %q", errs)
	}
}

func TestClientGivesUp(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	e.away.Store(true)
	c := newClient(e.client, Options{Session: "s", Person: "ada"})
	c.connection.patience = 150 * time.Millisecond
	_, err := c.post(t.Context(), "a")
	if !errors.Is(err, ErrNoEngine) {
		t.Fatal(err)
	}
	for text, wanted := range map[string]bool{`start it with "switchboard"`: true, "nobody is there": true, "http://": false} {
		if strings.Contains(err.Error(), text) != wanted {
			t.Errorf("%q: %v", text, err)
		}
	}
	c.connection.works() // one success, and it is patient again
	e.away.Store(false)
	if _, err := c.post(t.Context(), "b"); err != nil {
		t.Error(err)
	}
}

func TestClientTakesARefusalForAnAnswer(t *testing.T) {
	t.Parallel()
	c := newClient(newEngine(t, echo).client, Options{Session: "no/name", Person: "ada"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.post(ctx, "a"); !refused(err) {
		t.Error("it was tried again")
	}
}

func TestLostLinkIsReportedOnce(t *testing.T) {
	t.Parallel()
	var told []string
	l := &connection{} // without patience
	l.notify(func(text string) { told = append(told, text) })
	l.works()
	for range 2 {
		if l.failed() {
			t.Error("the first failure gives up")
		}
		if !l.failed() || !l.down() {
			t.Error("the second failure does not give up")
		}
		l.works()
		l.works()
		if l.down() {
			t.Error("it is down after a success")
		}
	}
	lost, again := "connection to the engine lost, reconnecting…", "connected again"
	if diff := cmp.Diff([]string{lost, again, lost, again}, told); diff != "" {
		t.Error(diff)
	}
}
