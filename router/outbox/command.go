package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// A DeliveryList lists the newest deliveries that are dead, unknown or dropped, before a number; 0: from
// the newest of all.
type DeliveryList interface {
	Undelivered(ctx context.Context, before int64, limit int) ([]Info, error)
}

// Command is the row of /deliveries.
func Command(list DeliveryList) commands.Command {
	return commands.Command{
		Name: "deliveries", Admin: true, Args: "[retry|drop|before NUMBER]", About: commands.Text{
			EN: "messages that were not sent, or may not have arrived", DE: "was nicht gesendet wurde, oder wovon man es nicht weiß",
			ES: "lo que no se pudo enviar, o no se sabe", FR: "ce qui n'a pas pu être envoyé, ou dont on ne le sait pas",
			IT: "che cosa non è stato inviato, o non si sa",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			if c.Args == "" {
				return listDeliveries(ctx, list, 0)
			}
			verb, number, _ := strings.Cut(strings.ToLower(c.Args), " ")
			id, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			kind := ChangeKind(verb)
			switch {
			case err == nil && verb == "before":
				return listDeliveries(ctx, list, id)
			case err != nil || kind != RetryDelivery && kind != DropDelivery:
				return commands.Says("Write \"%sdeliveries retry\" or \"%sdeliveries drop\" and a number; alone it lists them.", c.Slash, c.Slash), nil
			}
			change := &Change{ID: id, Kind: kind}
			return commands.Answer{Change: change, Say: func() commands.Answer {
				return commands.Says("Delivery %d was %s and is %s now.", id, change.Done.Was, change.Done.State)
			}}, nil
		},
	}
}

func listDeliveries(ctx context.Context, list DeliveryList, before int64) (a commands.Answer, err error) {
	found, err := list.Undelivered(ctx, before, commands.Rows+1)
	if err != nil {
		return a, err
	}
	if len(found) == 0 && before == 0 {
		return commands.Says("Everything was sent, or is on its way."), nil
	} else if len(found) == 0 {
		return commands.Says("There are no older ones."), nil
	}
	var b strings.Builder
	shown, more := commands.Shown(found)
	for _, d := range shown {
		fmt.Fprintf(&b, "- %d %s (%s) on %s: %s\n", d.ID, d.State, render.Escape(words.OneLine(d.Outcome, 40)), render.Escape(d.Channel), render.Escape(words.OneLine(d.Text, 60)))
		if d.State == string(DeliveryDropped) { // for good
			continue
		}
		a.Buttons = append(a.Buttons,
			commands.Button{Label: fmt.Sprint("Retry ", d.ID), Command: fmt.Sprint("deliveries retry ", d.ID)},
			commands.Button{Label: fmt.Sprint("Drop ", d.ID), Command: fmt.Sprint("deliveries drop ", d.ID), Beside: true})
	}
	if more {
		a.Buttons = append(a.Buttons, commands.Button{Label: "More", Command: fmt.Sprint("deliveries before ", shown[len(shown)-1].ID)})
	}
	a.Text, a.Taint = b.String(), tools.Label
	return a, nil
}

// ResendCommand is the row of /resend.
func ResendCommand() commands.Command {
	return commands.Command{Name: "resend", About: commands.Text{
		EN: "send again what may not have arrived here", DE: "noch einmal senden, was hier vielleicht nicht ankam", ES: "enviar de nuevo lo que quizá no llegó aquí",
		FR: "renvoyer ce qui n'est peut-être pas arrivé ici", IT: "inviare di nuovo ciò che forse qui non è arrivato",
	}, Run: resend}
}

// resend has what ended unknown here go out again, in its old place.
func resend(_ context.Context, c *commands.Call) (commands.Answer, error) {
	change := &Resend{Conversation: c.Conversation()}
	return commands.Answer{Change: change, Say: func() commands.Answer {
		unless := "."
		if change.Looked {
			unless = ", unless I find it here."
		}
		days, dropped := int(ResendWithin.Hours()/24), ""
		if change.Dropped > 0 {
			dropped = fmt.Sprintf(" Parts of %s from the last %d days could not be sent, and I do not send those again. Ask me again for what you still need.",
				words.Count(change.Dropped, "message"), days)
		}
		switch {
		case change.Messages == 0 && dropped != "":
			return commands.Says("There is nothing to send again.%s", dropped)
		case change.Messages == 0:
			return commands.Says("There is nothing to send again: all that I said here in the last %d days arrived, or is on its way.", days)
		case change.Messages == 1:
			return commands.Says("I'll send one answer again%s%s", unless, dropped)
		}
		return commands.Says("I'll send %d answers again%s%s", change.Messages, unless, dropped)
	}}, nil
}
