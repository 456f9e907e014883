package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/router/ledger"
	"switchboard/router/view"
	"switchboard/words"
)

// deliveriesShown is how many deliveries of a state one answer has.
const deliveriesShown = 10

// A DeliveryList lists the newest deliveries in a state.
type DeliveryList interface {
	Deliveries(ctx context.Context, state string, limit int) ([]view.Delivery, error)
}

// Deliveries is the row of /deliveries.
func Deliveries(list DeliveryList) commands.Command {
	return commands.Command{
		Name: "deliveries", Admin: true, Args: "[retry|drop NUMBER]", About: commands.Text{
			EN: "what could not be sent, or is not known to be", DE: "was nicht gesendet wurde, oder wovon man es nicht weiß",
			ES: "lo que no se pudo enviar, o no se sabe", FR: "ce qui n'a pas pu être envoyé, ou dont on ne le sait pas",
			IT: "che cosa non è stato inviato, o non si sa",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			if c.Args == "" {
				return listDeliveries(ctx, list, c.Slash)
			}
			verb, number, _ := strings.Cut(c.Args, " ")
			id, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			kind := ledger.DeliveryChangeKind(strings.ToLower(verb))
			if err != nil || kind != ledger.RetryDelivery && kind != ledger.DropDelivery {
				return commands.Says("Write \"%sdeliveries retry\" or \"%sdeliveries drop\" and a number; alone it lists them.", c.Slash, c.Slash), nil
			}
			change := &ledger.DeliveryChange{ID: id, Kind: kind}
			return commands.Answer{Change: change, Say: func() commands.Answer {
				return commands.Says("Delivery %d was %s and is %s now.", id, change.Done.Was, change.Done.State)
			}}, nil
		},
	}
}

func listDeliveries(ctx context.Context, list DeliveryList, slash string) (commands.Answer, error) {
	var b strings.Builder
	for _, state := range []ledger.DeliveryState{ledger.DeliveryDead, ledger.DeliveryUnknown} {
		found, err := list.Deliveries(ctx, string(state), deliveriesShown)
		if err != nil {
			return commands.Answer{}, err
		}
		for _, d := range found {
			fmt.Fprintf(&b, "- %d %s (%s) on %s: %s\n", d.ID, d.State, render.Escape(words.OneLine(d.Outcome, 40)), render.Escape(d.Channel), render.Escape(words.OneLine(d.Text, 60)))
		}
	}
	if b.Len() == 0 {
		return commands.Says("Everything was sent, or is on its way."), nil
	}
	fmt.Fprintf(&b, "\n\"%sdeliveries retry\" or \"drop\" and a number sends one again, or gives it up.", slash)
	return commands.Answer{Text: b.String(), Taint: "label"}, nil
}
