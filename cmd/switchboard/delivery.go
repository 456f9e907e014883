package main

import (
	"fmt"
	"net/http"

	web "switchboard/channels/api"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/outbox"
)

// deliveryCmd shows what went out.
type deliveryCmd struct {
	List  deliveryListCmd  `cmd:"" help:"The newest deliveries."`
	Retry deliveryRetryCmd `cmd:"" help:"Send again what failed, with the other failed parts of its message; ask again whether an unknown one arrived."`
	Drop  deliveryDropCmd  `cmd:"" help:"Give a part up that is pending, unknown or dead."`
}

type deliveryListCmd struct {
	State string `help:"Only deliveries in this state: draft, pending, sending, sent, unknown, dead or dropped." enum:",draft,pending,sending,sent,unknown,dead,dropped" default:""`
	Limit count  `default:"50" help:"Show at most this many."`
	JSON  bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *deliveryListCmd) Run(a *app) error {
	var got web.DeliveryList
	if err := a.ask("/v1/deliveries?"+query(c.State, c.Limit), &got); err != nil {
		return err
	}
	return printList(a, c.Limit, c.JSON, "try without --state, or write to the bot: \"switchboard chat\"", "ID\tSTATE\tOUTCOME\tTURN\tCHANNEL\tCONVERSATION\tTRIES\tWHEN\tTEXT", got.Deliveries, func(d outbox.Info) []any {
		turn := any("-") // of a command, say
		if d.TurnID != 0 {
			turn = d.TurnID
		}
		return []any{d.ID, d.State, d.Outcome, turn, d.Channel, d.Conversation, d.Tries, words.At(d.UpdatedAt), oneLine(d.Text, 40)}
	})
}

// deliveryPart names one delivery.
type deliveryPart struct {
	ID number `arg:"" help:"The delivery's number."`
	jsonFlag
}

type deliveryRetryCmd struct{ deliveryPart }

// Run implements the command.
func (c *deliveryRetryCmd) Run(a *app) error {
	return c.change(a, "retry", func(d *outbox.Changed) string {
		switch {
		case d.State == outbox.DeliveryUnknown:
			return "I ask the platform again whether it arrived; if nobody can tell, it is sent again, marked"
		case d.Was == outbox.DeliveryUnknown:
			return "it is sent again, marked"
		case d.With == 1:
			return "it is sent again, with another part of its message that died with it"
		case d.With > 1:
			return fmt.Sprintf("it is sent again, with %d other parts of its message that died with it", d.With)
		}
		return "it is sent again"
	})
}

type deliveryDropCmd struct{ deliveryPart }

// Run implements the command.
func (c *deliveryDropCmd) Run(a *app) error {
	return c.change(a, "drop", func(d *outbox.Changed) string {
		return fmt.Sprintf("it was %s and is given up", d.Was)
	})
}

// change changes a delivery by hand and says what becomes of it.
func (c *deliveryPart) change(a *app, how string, text func(*outbox.Changed) string) error {
	var d outbox.Changed
	return a.order(api.Call{Method: http.MethodPost, Path: fmt.Sprintf("/v1/deliveries/%d/%s", c.ID, how)}, fmt.Sprintf("delivery %s %d", how, c.ID), &d, func() error {
		if c.JSON {
			return printJSON(a.out, d)
		}
		_, err := fmt.Fprintf(a.out, "delivery %d: %s\n", c.ID, text(&d))
		return err
	})
}
