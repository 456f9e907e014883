package turns_test

import (
	"context"
	"testing"

	"switchboard/agent"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

// The only worker is busy with somebody else's turn: a turn that waits is
// cancelled at once all the same.
func TestCancelOfAQueuedTurnNeedsNoWorker(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 1
		release := r.Brain.Held("busy")
		r.Start()
		r.Begins("c1", "ada", "busy")
		state := func(text string) string {
			for _, turn := range r.Turns() {
				if turn.Text == text {
					return turn.State + " " + turn.Outcome
				}
			}
			return "nowhere"
		}
		r.Platform.Say("c2", "bob", "by command")
		r.Platform.Say("c2", "bob", "/cancel")
		if s := r.Await(1)[0]; s.Text != "Cancelled." || s.Conversation != "c2" {
			t.Errorf("/cancel is answered %+v", s)
		}
		if got := state("by command"); got != "cancelled cancelled" {
			t.Errorf("the turn is %s", got)
		}
		r.Platform.Say("c2", "bob", "by the operator")
		r.Until("it is queued", func() bool { return state("by the operator") == "queued " })
		if err := r.Router.Cancel(t.Context(), r.Turns()[0].ID, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		if got := state("by the operator"); got != "cancelled cancelled" {
			t.Errorf("the turn is %s", got)
		}
		release()
		r.Platform.Say("c2", "bob", "after")
		sent := r.Await(3)
		if r.Brain.Ran("by command")+r.Brain.Ran("by the operator") > 0 || len(sent) != 3 {
			t.Errorf("a cancelled turn ran: %q", routertest.Texts(sent))
		}
	})
}

// A turn that was asked to stop when the engine died is not run again.
func TestCancelOutlivesTheEngine(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		began, goOn := make(chan struct{}), make(chan struct{})
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "long" {
				close(began)
				<-goOn // deaf to the cancel
				return "", agent.ErrReleased
			}
			return "", nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "long")
		<-began
		// Asked in the database alone, so that this engine's turn does not hear of it.
		if _, err := r.DB.Router().Cancel(t.Context(), r.Turns()[0].ID, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		if turn := r.Turns()[0]; turn.State != "running" {
			t.Fatalf("the turn is %s", turn.State)
		}
		r.Stop() // so that nobody here claims it again
		close(goOn)
		r.End()
		r.Brain.Think = func(ctx context.Context, _ agent.Turn) (string, error) {
			if context.Cause(ctx) == nil {
				t.Error("it runs again as if nothing had been said")
			}
			return "done", nil
		}
		r.Start()
		r.Shows(1, "Cancelled.")
		if turn := r.Turns()[0]; turn.State != "cancelled" {
			t.Errorf("the turn ended %s (%s)", turn.State, turn.Outcome)
		}
	})
}
