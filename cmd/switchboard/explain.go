package main

import (
	"switchboard/router"
)

// explainCmd says why something went as it did.
type explainCmd struct {
	Turn explainTurnCmd `cmd:"" help:"Who was let in and why, who worked on it, each step with the rule that decided and its cost, what became of the answer."`
}

type explainTurnCmd struct {
	ID   int64 `arg:"" help:"The turn's number."`
	JSON bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *explainTurnCmd) Run(a *app) error {
	return a.showTurn(c.ID, "", c.JSON, func(t *router.TurnView) shown { return t.Explanation() })
}

type personRefusedCmd struct {
	Limit count `default:"50" help:"At most so many."`
	JSON  bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *personRefusedCmd) Run(a *app) error {
	return list(a, "/refused?"+query("", c.Limit), c.JSON, "WHEN\tCHANNEL\tCONVERSATION\tIDENTITY\tNAME\tRULE\tTEXT", func(m router.MessageView) []any {
		return []any{at(m.At), m.Channel, oneLine(m.Conversation, 40), m.Identity, oneLine(m.Author, 30), m.Rule, oneLine(m.Text, 60)}
	})
}
