package router_test

import (
	"sync/atomic"
	"testing"

	"switchboard/agent"
)

// parking is an agent that parks the turn of "ask" and answers it once it is decided.
func parking(decided *atomic.Bool) acting {
	return func(p play) error {
		if p.turn.Message.Text == "ask" && !decided.Load() {
			return p.Commit(p.ctx, agent.Step{
				Say: []agent.Say{{Position: -1, Notice: true, Text: "May I?"}}, End: &agent.End{State: "waiting"},
			})
		}
		return p.answer("re: " + p.turn.Message.Text)
	}
}

// decide lets the turn go on.
func (r *rig) decide(decided *atomic.Bool, turn int64) {
	r.t.Helper()
	decided.Store(true)
	if queued, err := r.router.Decide(r.t.Context(), turn); !queued || err != nil {
		r.t.Fatal(queued, err)
	}
}

// A turn that waits for a decision keeps neither the only worker nor its session, and
// survives the engine; decided, it answers its message, also where newer ones were answered.
//
// promise: P3.waiting-holds-nothing
func TestTurnThatWaitedAnswersItsMessage(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var decided atomic.Bool
		r.config.Workers, r.agent = 1, parking(&decided)
		r.start()
		r.platform.Say("c1", "ada", "ask")
		r.shows(1, "May I?")
		r.platform.Say("c1", "ada", "/status")
		r.mentions(2, "is waiting: ask")
		r.platform.Say("c1", "ada", "newer")
		r.shows(3, "re: newer")
		r.end()
		r.start()
		turn := r.turns()[1].ID
		r.decide(&decided, turn)
		r.shows(4, "re: ask")
		sent := r.await(4)
		if sent[0].ReplyTo != "" || sent[2].ReplyTo != "" || sent[3].ReplyTo == "" {
			t.Errorf("they reply to %q, %q and %q", sent[0].ReplyTo, sent[2].ReplyTo, sent[3].ReplyTo)
		}
		if queued, err := r.router.Decide(t.Context(), turn); queued || err != nil {
			t.Error(queued, err)
		}
		r.platform.Say("c2", "ada", "plain")
		r.shows(5, "re: plain")
	})
}

// What one engine parked another one may be told to go on with.
//
// promise: P3.waiting-holds-nothing
func TestTurnIsDecidedAtAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	var decided atomic.Bool
	a.agent, b.agent = parking(&decided), parking(&decided)
	startBoth(a, b)
	a.platform.Say("c1", "ada", "ask")
	a.shows(1, "May I?")
	b.decide(&decided, b.turns()[0].ID)
	a.shows(2, "re: ask")
}
