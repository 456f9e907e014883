package main

import (
	"strings"

	"switchboard/router/ledger"
	"switchboard/router/view"
)

// personCmd shows who is let in.
type personCmd struct {
	List    personListCmd    `cmd:"" help:"Everybody the bot knows."`
	Refused personRefusedCmd `cmd:"" help:"Who wrote and was not served, and by which rule."`
	Add     later            `cmd:"" hidden:""`
	Role    later            `cmd:"" hidden:""`
	Link    later            `cmd:"" hidden:""`
	Remove  later            `cmd:"" hidden:""`
}

type personListCmd struct{ jsonFlag }

// Run implements the command.
func (c *personListCmd) Run(a *app) error {
	return list(a, "/people", c.JSON, "NAME\tROLE\tIDENTITIES\tTOOLS\tFROM", func(p ledger.Person) []any {
		return []any{p.Name, p.Role, strings.Join(p.Identities, ", "), strings.Join(p.Tools, ", "), p.Source}
	})
}

type personRefusedCmd struct {
	Limit count `default:"50" help:"At most so many."`
	JSON  bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *personRefusedCmd) Run(a *app) error {
	return list(a, "/refused?"+query("", c.Limit), c.JSON, "WHEN\tCHANNEL\tCONVERSATION\tIDENTITY\tNAME\tRULE\tTEXT", func(m view.Message) []any {
		return []any{at(m.At), m.Channel, oneLine(m.Conversation, 40), m.Identity, oneLine(m.Author, 30), m.Rule, oneLine(m.Text, 60)}
	})
}
