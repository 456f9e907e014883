package main

import (
	"switchboard/router/view"
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
	return a.showTurn(c.ID, "", c.JSON, func(t *view.Turn) shown { return t.Explanation() })
}
