package router_test

import (
	"context"
	"testing"

	"switchboard/agent"
	"switchboard/router/people"
)

// The only worker is busy with somebody else's turn: a turn that waits is
// cancelled at once all the same.
func TestCancelOfAQueuedTurnNeedsNoWorker(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.Workers = 1
		release := r.brain.held("busy")
		r.start()
		r.begins("c1", "ada", "busy")
		state := func(text string) string {
			for _, turn := range r.turns() {
				if turn.Text == text {
					return turn.State + " " + turn.Outcome
				}
			}
			return "nowhere"
		}
		r.platform.Say("c2", "bob", "by command")
		r.platform.Say("c2", "bob", "/cancel")
		if s := r.await(1)[0]; s.Text != "Cancelled." || s.Conversation != "c2" {
			t.Errorf("/cancel is answered %+v", s)
		}
		if got := state("by command"); got != "cancelled cancelled" {
			t.Errorf("the turn is %s", got)
		}
		r.platform.Say("c2", "bob", "by the operator")
		r.until("it is queued", func() bool { return state("by the operator") == "queued " })
		if err := r.router.Cancel(t.Context(), r.turns()[0].ID, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		if got := state("by the operator"); got != "cancelled cancelled" {
			t.Errorf("the turn is %s", got)
		}
		release()
		r.platform.Say("c2", "bob", "after")
		sent := r.await(3)
		if r.brain.ran("by command")+r.brain.ran("by the operator") > 0 || len(sent) != 3 {
			t.Errorf("a cancelled turn ran: %q", texts(sent))
		}
	})
}

// A turn that was asked to stop when the engine died is not run again.
func TestCancelOutlivesTheEngine(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		began, goOn := make(chan struct{}), make(chan struct{})
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "long" {
				close(began)
				<-goOn // deaf to the cancel
				return "", agent.ErrHandBack
			}
			return "", nil
		}
		r.start()
		r.platform.Say("c1", "ada", "long")
		<-began
		// Asked in the ledger alone, so that this engine's turn does not hear of it.
		if _, err := r.db.Router().Cancel(t.Context(), r.turns()[0].ID, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		if turn := r.turns()[0]; turn.State != "running" {
			t.Fatalf("the turn is %s", turn.State)
		}
		r.stop() // so that nobody here claims it again
		close(goOn)
		r.end()
		r.brain.think = func(ctx context.Context, _ agent.Turn) (string, error) {
			if context.Cause(ctx) == nil {
				t.Error("it runs again as if nothing had been said")
			}
			return "done", nil
		}
		r.start()
		r.shows(1, "Cancelled.")
		if turn := r.turns()[0]; turn.State != "cancelled" {
			t.Errorf("the turn ended %s (%s)", turn.State, turn.Outcome)
		}
	})
}
