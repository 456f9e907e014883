package router_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest"
)

// wishing is an agent that asks whether it may run the command after "ask ", or use a tool ("ask TOOL with
// ARGUMENTS", also "under RULE"), and tells what it was told; it answers everything else.
func wishing(p play) error {
	command, asks := strings.CutPrefix(p.turn.Message.Text, "ask")
	if !asks {
		return p.answer("re: " + p.turn.Message.Text)
	}
	ask := agent.Ask{Tool: tools.ExecName, Shown: strings.TrimSpace(command), Hash: []byte(command), Rule: "policy.ask", Reason: "commands ask"}
	ask.Shown, _, asks = strings.Cut(ask.Shown, " after a page")
	if asks {
		ask.Taint = "web"
	}
	if shown, rule, told := strings.Cut(ask.Shown, " under "); told {
		ask.Shown, ask.Rule = shown, rule
	}
	if tool, args, told := strings.Cut(ask.Shown, " with "); told {
		ask.Tool, ask.Shown = tool, args
	}
	got, err := p.Approval(p.ctx, ask)
	switch {
	case err != nil:
		return err
	case got.State == "":
		return p.Commit(p.ctx, agent.Step{Ask: &ask, End: &agent.End{State: "waiting", Outcome: "approval"}})
	}
	return p.answer(strings.TrimSpace(fmt.Sprint(got.State, " ", got.Scope, " by ", got.By, " ", got.Why)))
}

var codes = regexp.MustCompile(`approve ([A-Z2-7]{4}-[A-Z2-7]{4})`)

// typedCode is the code of a question.
func (r *rig) typedCode(question channelstest.Sent) string {
	r.t.Helper()
	found := codes.FindStringSubmatch(question.Text)
	if found == nil {
		r.t.Fatalf("there is no code in %q", question.Text)
	}
	return found[1]
}

// A turn that waits for a decision keeps neither the only worker nor its session, and
// survives the engine; decided, it answers its message, also where newer ones were answered.
func TestTurnThatWaitedAnswersItsMessage(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.Workers, r.agent = 1, acting(wishing)
		r.start()
		r.platform.Say("c1", "ada", "ask rm x")
		code := r.typedCode(r.await(1)[0])
		r.platform.Say("c1", "ada", "/status")
		r.mentions(2, "I wait for a decision before I answer this (turn 1): ask rm x")
		r.platform.Say("c1", "ada", "newer")
		r.shows(3, "re: newer")
		r.end()
		r.start()
		r.platform.Say("c1", "ada", "/approve "+code)
		r.await(5)
		r.platform.Say("c1", "ada", "/approve "+code)
		sent := r.await(6)
		if got := texts(sent[3:]); !strings.HasPrefix(got[0], "Allowed.") || got[1] != "accepted once by ada" || !strings.HasPrefix(got[2], "That question is not open any more") {
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
	a.agent, b.agent = acting(wishing), acting(wishing)
	startBoth(a, b)
	a.platform.Say("c1", "ada", "ask rm x")
	code := a.typedCode(a.await(1)[0])
	a.end()
	b.until("the channel is held", b.connected)
	b.platform.Say("c1", "ada", "/deny "+code+" too risky")
	b.await(3)
	b.shows(3, "rejected  by ada too risky")
}
