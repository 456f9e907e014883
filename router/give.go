package router

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// GiveCommand is a tools.Commander: it gives a command of admins in the chat of the call. What the
// command changes is changed as if its person had typed it, with the turn in the audit row.
func (r *Router) GiveCommand(ctx context.Context, call tools.Call, name string, args ...string) tools.Result {
	person, c := r.Roster.Named(call.Session.Person), r.commands.Find(name)
	switch {
	case person == nil || person.Role != core.RoleAdmin || !call.Session.Direct:
		return tools.Result{End: tools.EndRefused, Code: "not_permitted", Rule: audit.RuleApprover, Output: "only admins may do that, in a direct chat"}
	case c == nil || !c.Admin:
		return tools.Result{End: tools.EndRefused, Code: "not_available", Output: "this program has no command /" + name}
	}
	conv := core.OfSession(call.Session.ID)
	conv.Kind = channels.Direct
	answer, err := r.given(ctx, c, &commands.Call{
		Event: &channels.Event{Kind: channels.EventMessage, Conversation: conv}, Person: person,
		Name: name, Args: strings.Join(args, " "), Slash: r.Connections.Connection(conv.Channel).Command(conv),
	}, core.Actor{Person: person.Name, Rule: audit.RuleApprover, Turn: call.Session.Turn})
	if refused, ok := errors.AsType[*core.StateError](err); ok {
		return tools.Result{End: tools.EndRefused, Code: "refused", Output: refused.Sentence}
	} else if err != nil {
		r.Log.ErrorContext(ctx, "a command that a tool gave broke off", "command", name, "turn_id", call.Session.Turn, "error", err)
		return tools.Result{
			End: tools.EndError, Code: "unavailable", Output: "it broke off, and nobody knows whether it was done",
			Hint: "look before doing it again",
		}
	}
	return tools.Result{End: tools.EndOK, Output: render.Parse(answer.Text + commands.TypedOut(answer.Buttons)).Plain(), Taint: answer.Taint}
}

// given runs a command and makes its change.
func (r *Router) given(ctx context.Context, c *commands.Command, call *commands.Call, by core.Actor) (answer commands.Answer, err error) {
	answer, err = r.answer(ctx, c, call)
	switch {
	case err != nil:
		return answer, err
	case answer.Intent != nil:
		return answer, &core.StateError{Sentence: fmt.Sprintf("this has to be typed: %s%s %s", call.Slash, call.Name, call.Args)}
	case answer.Background != nil: // the tool waits for it
		return answer.Background(ctx), nil
	case answer.Change == nil:
		return answer, nil
	}
	if err := r.Change(ctx, answer.Change, by); errors.Is(err, core.ErrNotFound) {
		_, target := answer.Change.Names()
		return answer, &core.StateError{Sentence: "There is no " + target + "."}
	} else if err != nil {
		return answer, err
	}
	if answer.Say != nil {
		return answer.Say(), nil
	}
	return answer, nil
}
