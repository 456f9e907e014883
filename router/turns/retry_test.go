package turns_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest/scripted"
)

// trier is an agent that does one task for each turn and fails where it is told to. It
// notes what it was given.
type trier struct {
	mu     sync.Mutex
	turns  []agent.Turn
	states []agent.State
	fail   bool
	hold   chan struct{} // nil: nothing is held
}

func (b *trier) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	state, err := j.Resume(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.turns, b.states = append(b.turns, turn), append(b.states, *state)
	fail, hold := b.fail, b.hold
	b.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return agent.ErrReleased
		}
	}
	text := "make it"
	plan := agent.PlanRow{Goal: "do it", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: text}}}}
	task := agent.TaskChange{Type: agent.TaskExec, State: agent.TaskRunning}
	if err := j.Commit(ctx, agent.Step{Plan: &plan, Tasks: []agent.TaskChange{task}}); err != nil {
		return err
	}
	task.State, task.Result = agent.TaskDone, &tools.Result{End: tools.EndOK, Output: "made"}
	end := agent.End{State: "done", Outcome: "answered"}
	if fail {
		end = agent.End{State: "failed", Outcome: "model_error"}
	}
	return j.Commit(ctx, agent.Step{
		Tasks: []agent.TaskChange{task}, Say: []agent.Say{{Text: "re: " + turn.Message.Text, Final: !fail}}, End: &end,
	})
}

func (b *trier) latest() (agent.Turn, agent.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns[len(b.turns)-1], b.states[len(b.states)-1]
}

// A retry is a turn on the same message, which knows what was done before. A retry of a
// retry reaches the first.
func TestRetryRunsTheMessageAgainWithWhatWasDone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		brain := &trier{fail: true}
		r.Agent = brain
		r.Start()
		r.Platform.Say("c1", "ada", "do it")
		r.Await(1)
		r.AllEnded()
		for try := 1; try <= 2; try++ {
			r.Platform.Say("c1", "ada", "/retry")
			if got := r.Await(try + 1)[try].Text; got != "re: do it" {
				t.Fatalf("try %d answers %q", try, got)
			}
			r.AllEnded()
			turn, state := brain.latest()
			if turn.Message.Text != "do it" || turn.Message.Author != "ada" || len(state.Former) != try {
				t.Fatalf("try %d is given %+v and %d former turns", try, turn.Message, len(state.Former))
			}
			former := state.Former[try-1]
			if former.Outcome != "model_error" || len(former.Plans) != 1 || former.Plans[0].Tasks[0].Result.Output != "made" {
				t.Errorf("of what was done it is told %+v", former)
			}
		}
		turns := r.Turns()
		if turns[0].RetryOf != turns[2].ID || turns[1].RetryOf != turns[2].ID || turns[2].RetryOf != 0 {
			t.Errorf("the turns are linked to %d, %d, %d", turns[0].RetryOf, turns[1].RetryOf, turns[2].RetryOf)
		}
	})
}

// Only what ended can be tried again, and only by whoever asked for it.
func TestRetryNeedsAnEndedTurnOfOnesOwn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		brain := &trier{hold: make(chan struct{})}
		r.Agent = brain
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		say := func(user, text, replyTo, want string) {
			t.Helper()
			n := len(r.Platform.Sent())
			r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: user, Text: text, ReplyTo: replyTo})
			r.Mentions(n+1, want)
		}
		say("ada", "/retry", "", "nothing of yours")
		first := r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: "ada", Text: "do it"})
		r.Until("it runs", func() bool { brain.mu.Lock(); defer brain.mu.Unlock(); return len(brain.turns) == 1 })
		say("ada", "/retry", "", "still on it")
		say("bob", "/retry", first, "Somebody else asked")
		say("bob", "/retry", "", "nothing of yours")
		say("ada", "/retry", "nobody-knows", "do not know what")
		close(brain.hold)
		r.AllEnded()
		r.Await(6)
		answer := r.Platform.Sent()[5]
		r.Until("it is known to be sent", func() bool { return len(r.Deliveries("sent")) == 6 })
		say("bob", "/retry", string(answer.ID), "Somebody else asked")
		say("ada", "/retry 2", string(answer.ID), "I did nothing: write /retry with nothing after it")
		say("ada", "/retry", string(answer.ID), "re: do it")
		r.AllEnded()
		say("ada", "/reset", "", "Forgotten")
		say("ada", "/retry", "", "nothing of yours")
		say("ada", "/retry", first, "no longer have")
		r.HasTurns(2)
	})
}

// Where messages wait for more, a retry does not, and takes with it what comes.
func TestRetryDoesNotWaitToCollect(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		brain := &trier{}
		r.Agent, r.Config.Busy, r.Config.CollectWindow = brain, "collect", 50*time.Millisecond
		r.Start()
		r.Platform.Say("c1", "ada", "do it")
		r.Await(1)
		r.AllEnded()
		r.Platform.Say("c1", "ada", "/retry")
		r.Shows(2, "re: do it")
	})
}

// A message that was edited since counts as it reads now; one that was taken back is
// not tried again.
func TestRetryOfAnEditedMessageReadsItAsItIsNow(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		brain := &trier{}
		r.Agent = brain
		r.Start()
		id := r.Platform.Say("c1", "ada", "do it")
		r.Await(1)
		r.AllEnded()
		r.Platform.Edit("c1", id, "do that")
		r.Platform.Edit("c1", id, "do this")
		r.Await(2) // that it came too late, once
		r.Platform.Say("c1", "ada", "/retry")
		r.Shows(3, "re: do this")
		r.AllEnded()
		r.Platform.Delete("c1", id)
		r.Platform.Say("c1", "ada", "/retry")
		r.Mentions(4, "no longer have")
	})
}

// A retry that is killed is resumed like any turn.
func TestRetryIsResumed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		brain := &trier{}
		r.Agent = brain
		r.Start()
		r.Platform.Say("c1", "ada", "do it")
		r.Await(1)
		r.AllEnded()
		brain.mu.Lock()
		brain.hold = make(chan struct{})
		brain.mu.Unlock()
		r.Platform.Say("c1", "ada", "/retry")
		r.Until("it runs", func() bool { brain.mu.Lock(); defer brain.mu.Unlock(); return len(brain.turns) == 2 })
		r.End()
		close(brain.hold)
		r.Start()
		r.Await(2)
		if turn, state := brain.latest(); turn.Message.Text != "do it" || len(state.Former) != 1 {
			t.Errorf("it goes on with %q and %d former turns", turn.Message.Text, len(state.Former))
		}
	})
}

// Capitals alone stop nothing: only a stop word does, and only alone.
func TestOnlyAStopWordAloneStops(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held("busy")
		r.Start()
		r.Begins("c1", "ada", "busy")
		for _, text := range []string{"DO IT NOW", "PLEASE STOP IT", "STOP THAT", "NON-STOP"} {
			r.Platform.Say("c1", "ada", text)
		}
		r.Until("all wait", func() bool { return len(r.Turns()) == 5 })
		if state := r.Turns()[4].State; state != "running" {
			t.Errorf("shouting made the turn %s", state)
		}
		r.Platform.Say("c1", "ada", "STOP!")
		r.Shows(1, "Cancelled.")
		release()
		r.Await(5)
	})
}
