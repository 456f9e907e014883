package router

import (
	"context"

	"switchboard/agent"
	"switchboard/router/commands"
	"switchboard/router/ledger"
)

// retryTakes answers a /retry with something behind it.
const retryTakes = "/retry takes nothing behind it, so I did nothing: alone it tries your latest message again, as a reply to a message that one. What you want otherwise, just write to me."

// retry is /retry: a turn that takes its place in the queue.
func (r *Router) retry(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args != "" {
		return commands.Says("%s", retryTakes), nil
	}
	turn := r.turn(*c.Event)
	turn.Retry = &ledger.Retry{Of: c.Event.Message.ReplyTo}
	return commands.Answer{As: &turn}, nil
}

// lost says that a retry has nothing to do again.
func lost(d *ledger.TurnData) bool {
	m := &d.Turn.Message
	return d.Retry && blank(m.Text) && blank(m.Quote) && len(m.Passed)+len(m.Attachments) == 0
}

// lostEnd ends a retry whose message was taken back, or is kept no more.
func lostEnd() agent.Step {
	return agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: situationTexts[ledger.RetryForgotten]}},
		End: &agent.End{State: "failed", Outcome: "nothing_to_retry"},
	}
}
