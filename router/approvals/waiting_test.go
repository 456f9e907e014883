package approvals_test

import (
	"strings"
	"testing"

	"switchboard/router/routertest"
)

// A turn that waits for a decision keeps neither the only worker nor its session, and
// survives the engine; decided, it answers its message, also where newer ones were answered.
func TestTurnThatWaitedAnswersItsMessage(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers, r.Agent = 1, routertest.Acting(routertest.Requesting)
		r.Start()
		r.Platform.Say("c1", "ada", "ask rm x")
		code := r.TypedCode(r.Await(1)[0])
		r.Platform.Say("c1", "ada", "/status")
		r.Mentions(2, "I wait for a decision before I answer this (turn 1): ask rm x")
		r.Platform.Say("c1", "ada", "newer")
		r.Shows(3, "re: newer")
		r.End()
		r.Start()
		r.Platform.Say("c1", "ada", "/approve "+code)
		r.Await(5)
		r.Platform.Say("c1", "ada", "/approve "+code)
		sent := r.Await(6)
		if got := routertest.Texts(sent[3:]); !strings.HasPrefix(got[0], "Allowed.") || got[1] != "accepted once by ada" || !strings.HasPrefix(got[2], "That question is not open any more") {
			t.Errorf("said %q", got)
		}
		if sent[0].ReplyTo != "" || sent[2].ReplyTo != "" || sent[4].ReplyTo == "" {
			t.Errorf("they reply to %q, %q and %q", sent[0].ReplyTo, sent[2].ReplyTo, sent[4].ReplyTo)
		}
	})
}

// What one engine parked another one may be told to go on with.
func TestTurnIsDecidedAtAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	a.Agent, b.Agent = routertest.Acting(routertest.Requesting), routertest.Acting(routertest.Requesting)
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c1", "ada", "ask rm x")
	code := a.TypedCode(a.Await(1)[0])
	a.End()
	b.Until("the channel is held", b.Connected)
	b.Platform.Say("c1", "ada", "/deny "+code+" too risky")
	b.Await(3)
	b.Shows(3, "rejected  by ada too risky")
}
