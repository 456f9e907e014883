package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	web "switchboard/channels/api"
	"switchboard/channels/console"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/turns"
)

// turnCmd shows and stops turns.
type turnCmd struct {
	List   turnListCmd   `cmd:"" help:"The newest turns."`
	Show   turnShowCmd   `cmd:"" help:"One turn whole: plans, tasks, verdicts, costs."`
	Cancel turnCancelCmd `cmd:"" help:"Ask a turn to stop."`
}

type turnListCmd struct {
	State string `help:"Only turns in this state: queued, running, waiting, done, failed, cancelled or merged." enum:",queued,running,waiting,done,failed,cancelled,merged" default:""`
	Limit count  `default:"50" help:"Show at most this many."`
	JSON  bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *turnListCmd) Run(a *app) error {
	var got web.TurnList
	if err := a.ask("/v1/turns?"+query(c.State, c.Limit), &got); err != nil {
		return err
	}
	return printList(a, c.Limit, c.JSON, "try without --state, or write to the bot: \"switchboard chat\"", "ID\tSTATE\tOUTCOME\tPERSON\tSESSION\tASKED\tTEXT", got.Turns, func(t turns.Turn) []any {
		return []any{t.ID, t.State, outcome(&t), t.Person, t.Session, words.At(t.CreatedAt), oneLine(t.Text, 50)}
	})
}

// outcome is that of a turn where it says more than its state.
func outcome(t *turns.Turn) string {
	if t.Outcome == t.State {
		return ""
	}
	return words.Outcome(t.Outcome)
}

type turnShowCmd struct {
	ID      number `arg:"" help:"The turn's number."`
	Prompts bool   `help:"Also the exact requests and answers of its model calls."`
	JSON    bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *turnShowCmd) Run(a *app) error {
	path := ""
	if c.Prompts {
		path = "?prompts=true"
	}
	return a.showTurn(int64(c.ID), path, c.JSON, func(t *turns.Turn) shown { return t })
}

// shown is a turn as JSON, and as text.
type shown interface {
	Show(currency string, zone *time.Location) string
}

func (a *app) showTurn(id int64, query string, asJSON bool, render func(*turns.Turn) shown) error {
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	currency := "" // elsewhere it is not known
	if settings != nil {
		currency = settings.Budget.Currency
	}
	var turn turns.Turn
	if err := a.ask(fmt.Sprintf("/v1/turns/%d%s", id, query), &turn); err != nil {
		return fmt.Errorf("turn %d: %w", id, err)
	}
	as := render(&turn)
	if asJSON {
		return printJSON(a.out, as)
	}
	_, err = io.WriteString(a.out, console.Printable(as.Show(currency, time.Local))) // models and outputs may hold anything
	return err
}

type turnCancelCmd struct {
	ID number `arg:"" help:"The turn's number."`
}

// Run implements the command.
func (c *turnCancelCmd) Run(a *app) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return err
	}
	answered, err := a.send(settings, api.Call{Method: http.MethodPost, Path: fmt.Sprintf("/v1/turns/%d/cancel", c.ID)}, nil)
	if answered {
		fmt.Fprintf(a.out, "turn %d was asked to stop\n", c.ID)
	} else if err.Error() == core.ErrNotFound.Error() {
		return fmt.Errorf("turn %d: %w", c.ID, err)
	}
	return err
}

// explainCmd says why something went as it did.
type explainCmd struct {
	Turn explainTurnCmd `cmd:"" help:"Who asked and by which rule, who worked on it, each step with the rule that decided and its cost, what became of the answer."`
}

type explainTurnCmd struct {
	ID   number `arg:"" help:"The turn's number."`
	JSON bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *explainTurnCmd) Run(a *app) error {
	return a.showTurn(int64(c.ID), "", c.JSON, func(t *turns.Turn) shown { return t.Explanation() })
}
