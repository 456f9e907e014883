package router_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/outbox"
)

// sightless does not see the turns that have ended, as if its engine had died before.
type sightless struct {
	router.Ledger
	dead *atomic.Bool
}

func (b sightless) ShownTurns(ctx context.Context, channel string) (list []outbox.ShownTurn, err error) {
	if !b.dead.Load() {
		return b.Ledger.ShownTurns(ctx, channel)
	}
	return nil, errDead
}

// A turn that takes a while is shown at work at its message, and no more once it has ended; if the
// engine dies between, by the next one.
func TestTurnIsShownAtWorkUntilItsEnd(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.script.Rich = true
		var dead atomic.Bool
		r.ledger = func(l router.Ledger) router.Ledger { return sightless{l, &dead} }
		var shown atomic.Pointer[channels.MessageID]
		write := func(text string) channels.MessageID {
			id := channels.MessageID(r.platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: text}))
			shown.Store(&id)
			return id
		}
		state := func(want string) func() bool {
			return func() bool {
				id := shown.Load()
				return id != nil && fmt.Sprint(r.platform.Turn(*id)) == want
			}
		}
		r.agent = acting(func(p play) error {
			if p.turn.Message.Text == "quick" {
				return p.answer("done")
			}
			p.pause(1700 * time.Millisecond)
			r.until("it is shown at work", state("[working]"))
			dead.Store(p.turn.Message.Text == "killed")
			return p.answer("done")
		})
		r.start()
		write("slow")
		r.until("it is shown no more", state("[working done]"))
		quick := write("quick")
		r.await(2)
		id := write("killed")
		r.await(3)
		r.end()
		if got := r.platform.Turn(id); len(got) != 1 {
			t.Errorf("shown %v by a dead engine", got)
		}
		dead.Store(false)
		r.start()
		r.until("it is shown no more", state("[working done]"))
		if got := r.platform.Turn(quick); len(got) > 0 {
			t.Errorf("what is answered at once is shown %v", got)
		}
	})
}
