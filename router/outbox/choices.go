package outbox

import (
	"cmp"
	"crypto/rand"
	"time"

	"switchboard/router/core"

	"switchboard/channels"
)

// choiceDeadline is how long a question can be answered by a button, or a command given.
const choiceDeadline = 24 * time.Hour

// Act adds an action, and the button for it under the last part; nil: there is none.
func (reply *Reply) Act(action Action, button *channels.Button) {
	code := rand.Text()
	action.Code = HashCode(code)
	reply.Actions = append(reply.Actions, action)
	if button != nil {
		last := &reply.Parts[len(reply.Parts)-1]
		button.Code = code
		last.Buttons = append(last.Buttons, *button)
	}
}

// offerChoices adds the actions by which the reply's person can answer, and their buttons.
func offerChoices(reply *Reply, choices []string, buttons bool) {
	until := time.Now().Add(choiceDeadline)
	for i, choice := range choices {
		var button *channels.Button
		if buttons {
			button = &channels.Button{Label: choice}
		}
		reply.Act(Action{Kind: ActionChoice, Person: reply.Person, Text: choice, Number: i + 1, ExpiresAt: until}, button)
	}
}

// Offers is how many of these buttons a conversation shows under a message.
func (c *Composer) Offers(conv channels.Conversation, list []core.Button) int {
	features := c.features(conv)
	if !features.Buttons {
		return 0
	}
	return min(len(list), cmp.Or(features.MaxButtons, len(list)))
}

// Offer adds buttons to a reply, which give commands as person, and that person alone: so many are shown, and of others
// those that are a choice have the numbers of commands.TypedOut.
func (c *Composer) Offer(reply *Reply, person string, list []core.Button, shown int) {
	until := time.Now().Add(choiceDeadline)
	for i, b := range list {
		until := until
		if !b.Until.IsZero() && b.Until.Before(until) {
			until = b.Until
		}
		action := Action{Kind: ActionCommand, Person: person, Text: b.Command, Either: b.Either || b.Ends, ExpiresAt: until}
		switch {
		case b.Asks:
			action.Number, action.Text = NextWords, b.Command+" "
		case i < shown:
			reply.Act(action, &channels.Button{Label: c.Mask.Text(b.Label), Beside: b.Beside})
			continue
		case b.Either:
			action.Number = i - shown + 1
		default:
			continue
		}
		reply.Act(action, nil)
	}
}
