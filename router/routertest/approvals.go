package routertest

import (
	"fmt"
	"regexp"
	"strings"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
)

// Toast is what a press is answered with.
func (r *Rig) Toast(callback string) string {
	r.T.Helper()
	var text string
	r.Until("the press is answered", func() bool {
		for _, toast := range r.Platform.Toasts() {
			if toast.Callback == callback {
				text = toast.Text
				return true
			}
		}
		return false
	})
	return text
}

// Code is that of a button that was shown, be it there or not any more.
func (r *Rig) Code(label string) (id, code string) {
	for _, try := range r.Platform.Tries() {
		for _, b := range try.Buttons {
			if b.Label == label {
				return string(r.Platform.SentIn("c1")[0].ID), b.Code
			}
		}
	}
	r.T.Fatalf("no button %s was shown", label)
	return "", ""
}

// Toasts wants a press to be answered so.
func (r *Rig) Toasts(callback, want string) {
	r.T.Helper()
	if got := r.Toast(callback); got != want {
		r.T.Errorf("the press is answered %q, want %q", got, want)
	}
}

// Request makes r a rig whose agent asks, on a platform with buttons.
func (r *Rig) Request() { r.Agent, r.Script.Rich, r.Script.Buttons = Acting(Requesting), true, true }

// Pressed is how user presses a button again that is to be seen now.
func (r *Rig) Pressed(user, label string) func() string {
	id, code := r.Code(label)
	return func() string { return r.Platform.PressCode("c1", user, id, code) }
}

// Press is the event of a press.
func Press(n int, user, code string) channels.Event {
	e := Event(n, "c1", user, "")
	e.Kind, e.Message, e.Action = channels.EventAction, channels.Message{}, channels.Action{Code: code}
	return e
}

// Requesting is an agent that asks whether it may run the command after "ask ", or use a tool ("ask TOOL with
// ARGUMENTS", also "under RULE"), and tells what it was told; it answers everything else.
func Requesting(p Play) error {
	command, asks := strings.CutPrefix(p.Turn.Message.Text, "ask")
	if !asks {
		return p.Answer("re: " + p.Turn.Message.Text)
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
	got, err := p.Approval(p.Ctx, ask)
	switch {
	case err != nil:
		return err
	case got.State == "":
		return p.Commit(p.Ctx, agent.Step{Ask: &ask, End: &agent.End{State: "waiting", Outcome: "approval"}})
	}
	return p.Answer(strings.TrimSpace(fmt.Sprint(got.State, " ", got.Scope, " by ", got.By, " ", got.Why)))
}

// ApproveCode finds the code in a question for an approval.
var ApproveCode = regexp.MustCompile(`approve ([A-Z2-7]{4}-[A-Z2-7]{4})`)

// TypedCode is the code of a question.
func (r *Rig) TypedCode(question channelstest.Sent) string {
	r.T.Helper()
	found := ApproveCode.FindStringSubmatch(question.Text)
	if found == nil {
		r.T.Fatalf("there is no code in %q", question.Text)
	}
	return found[1]
}
