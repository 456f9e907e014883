package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
)

// picky is a ledger whose database does not take certain events, or is away.
type picky struct {
	router.Ledger
}

var errAway = errors.New("the database is away")

func (p picky) Accept(ctx context.Context, owner int64, entries []router.Entry) ([]router.Accepted, error) {
	for _, e := range entries {
		if e.Class != router.ClassRejected && strings.HasPrefix(e.Event.Message.Text, "poison") {
			return nil, fmt.Errorf("accept: %w", router.ErrRefused)
		}
		if e.Event.Message.Text == "away" {
			return nil, errAway
		}
	}
	return p.Ledger.Accept(ctx, owner, entries)
}

// One event that the database refuses does not make its channel deaf.
//
// promise: P1.rejected-kept
func TestRefusedEventIsKeptAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.Workers = 4 // one for each person
		r.ledger = func(l router.Ledger) router.Ledger { return picky{l} }
		r.start()
		batch := []channels.Event{
			event(1, "c1", "ada", "first"), event(2, "c2", "bob", "poison"), event(3, "c3", "ada", "last"),
		}
		for range 2 { // told again, it is known
			receipts, err := r.router.Accept(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(receipts[1].Rejected, "database") && !receipts[1].Duplicate || receipts[0].Rejected+receipts[2].Rejected != "" {
				t.Errorf("%+v", receipts)
			}
			batch[1].Message.Text = "poison again"
		}
		r.await(2)
		list, err := r.db.Router().Rejected(t.Context(), 5)
		if err != nil || len(list) != 1 || list[0].Raw != "poison" {
			t.Errorf("rejected: %+v, %v", list, err)
		}
		if n := len(r.turns()); n != 2 {
			t.Errorf("%d turns of 2", n)
		}
		if _, err := r.router.Accept(t.Context(), []channels.Event{event(4, "c1", "ada", "away")}); !errors.Is(err, errAway) {
			t.Errorf("a database that is away refuses nothing: %v", err)
		}
		// No worker leaked: bob's is there.
		r.platform.Say("c2", "bob", "and now")
		r.await(3)
	})
}

// Workers that were reserved for a batch that cannot be sorted are given back.
func TestBatchThatCannotBeSortedLeaksNoWorker(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.Workers = 1
		r.start()
		nowhere := event(1, "c9", "ada", "x")
		nowhere.Conversation.Channel = "nowhere"
		if _, err := r.router.Accept(t.Context(), []channels.Event{event(2, "c1", "ada", "y"), nowhere}); err == nil {
			t.Fatal("an event of a channel that is not attached was taken")
		}
		r.platform.Say("c1", "ada", "still there?")
		r.await(1)
	})
}

// An engine whose leases may be gone starts no send, and the agent does nothing
// more after a commit.
//
// promise: L.fence
func TestUnsafeEngineDoesNothingOutside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var safe atomic.Bool
		safe.Store(true)
		r.safe = safe.Load
		stepped := make(chan error, 10)
		r.brain.step = func(j agent.Journal) error {
			safe.Store(false)
			err := j.Commit(t.Context(), agent.Step{Calls: []agent.Call{{Step: "plan"}}})
			stepped <- err
			return err
		}
		r.start()
		r.platform.Say("c2", "bob", "do something outside")
		if err := <-stepped; !errors.Is(err, agent.ErrHandBack) {
			t.Errorf("the agent may go on: %v", err)
		}
		r.until("the step is there", func() bool { return r.turns()[0].Calls == 1 })
		r.platform.Say("c1", "ada", "/help")
		r.until("the reply is committed", func() bool { return len(r.deliveries("pending")) == 1 })
		r.platform.Say("c3", "ada", "begin nothing")
		r.until("it is queued", func() bool { return len(r.turns()) == 2 })
		r.end() // flushes what may be sent
		if tries := r.platform.Tries(); len(tries) != 0 {
			t.Errorf("sent %+v", tries)
		}
		if r.brain.ran("begin nothing") > 0 || r.brain.ran("do something outside") != 1 {
			t.Error("a turn was begun")
		}
	})
}
