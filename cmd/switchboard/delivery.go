package main

import (
	"errors"
	"fmt"
	"net/http"

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
	return list(a, "/v1/deliveries?"+query(c.State, c.Limit), c.Limit, c.JSON, "try without --state, or write to the bot: \"switchboard chat\"", "ID\tSTATE\tOUTCOME\tTURN\tCHANNEL\tCONVERSATION\tTRIES\tWHEN\tTEXT", func(d outbox.Info) []any {
		turn := any("-") // of a command, say
		if d.TurnID != 0 {
			turn = d.TurnID
		}
		return []any{d.ID, d.State, d.Outcome, turn, d.Channel, d.Conversation, d.Tries, at(d.UpdatedAt), oneLine(d.Text, 40)}
	})
}

// deliveryPart names one delivery.
type deliveryPart struct {
	ID int64 `arg:"" help:"The delivery's number."`
	jsonFlag
}

type deliveryRetryCmd struct{ deliveryPart }

// Run implements the command.
func (c *deliveryRetryCmd) Run(a *app) error {
	return a.mend(c.ID, "retry", c.JSON, func(d *outbox.Changed) string {
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
	return a.mend(c.ID, "drop", c.JSON, func(d *outbox.Changed) string {
		return fmt.Sprintf("it was %s and is given up", d.Was)
	})
}

// mend changes a delivery by hand and says what becomes of it.
func (a *app) mend(id int64, how string, asJSON bool, say func(*outbox.Changed) string) error {
	var d outbox.Changed
	_, answered, err := a.request(http.MethodPost, fmt.Sprintf("/v1/deliveries/%d/%s", id, how), &d)
	switch {
	case !answered:
		return fmt.Errorf("delivery %s %d: %w", how, id, err)
	case asJSON:
		return errors.Join(printJSON(a.out, d), err)
	}
	fmt.Fprintf(a.out, "delivery %d: %s\n", id, say(&d))
	return err
}
