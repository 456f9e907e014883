package outbox_test

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
	"switchboard/router/routertest"
)

// sightless does not see the turns that have ended, as if its engine had died before.
type sightless struct {
	router.Store
	dead *atomic.Bool
}

func (b sightless) ShownTurns(ctx context.Context, channel string) (list []outbox.ShownTurn, err error) {
	if !b.dead.Load() {
		return b.Store.ShownTurns(ctx, channel)
	}
	return nil, routertest.ErrDead
}

// A turn that takes a while is shown at work at its message, and no more once it has ended; if the
// engine dies between, by the next one.
func TestTurnIsShownAtWorkUntilItsEnd(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich = true
		var dead atomic.Bool
		r.Store = func(l router.Store) router.Store { return sightless{l, &dead} }
		var shown atomic.Pointer[channels.MessageID]
		write := func(text string) channels.MessageID {
			id := channels.MessageID(r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: text}))
			shown.Store(&id)
			return id
		}
		state := func(want string) func() bool {
			return func() bool {
				id := shown.Load()
				return id != nil && fmt.Sprint(r.Platform.Turn(*id)) == want
			}
		}
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			if p.Turn.Message.Text == "quick" {
				return p.Answer("done")
			}
			p.Pause(1700 * time.Millisecond)
			r.Until("it is shown at work", state("[working]"))
			dead.Store(p.Turn.Message.Text == "killed")
			return p.Answer("done")
		})
		r.Start()
		write("slow")
		r.Until("it is shown no more", state("[working done]"))
		began := time.Now()
		quick := write("quick")
		r.Await(2)
		atOnce := time.Since(began) < time.Second // a busy machine may be slower
		id := write("killed")
		r.Await(3)
		r.End()
		if got := r.Platform.Turn(id); len(got) != 1 {
			t.Errorf("shown %v by a dead engine", got)
		}
		dead.Store(false)
		r.Start()
		r.Until("it is shown no more", state("[working done]"))
		if got := r.Platform.Turn(quick); !atOnce {
			t.Log("the quick answer was slow: what was shown of it is not looked at")
		} else if len(got) > 0 {
			t.Errorf("what is answered at once is shown %v", got)
		}
	})
}
