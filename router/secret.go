package router

import (
	"context"

	"switchboard/router/intake"
	"switchboard/router/settings"
)

// setsSecret says that a command sets a secret, so that what followed it is not merely hidden.
func setsSecret(control *intake.ControlIntent) bool {
	c, ok := control.Change.(*settings.SecretChange)
	return ok && c.Kind == settings.SetSecret
}

// followSecret deletes a message that brought a secret, where that can be, and has all engines
// go on with what was set.
func (r *Router) followSecret(ctx context.Context, entry *classified, acc *intake.Accepted) {
	conv := entry.Event.Conversation
	line := entry.line
	if entry.secret.value != "" && entry.Sender.Person != "" && line.Removes(conv) {
		line.Remove(conv, entry.Event.Message.ID, func(ctx context.Context) {
			notice := line.Notice(entry.Event, "I could not delete your message with the secret. Please delete it yourself, and set a new value for the secret if anybody may have read it.")
			notice.Person = entry.Sender.Person
			if _, err := r.Ledger.Notify(ctx, asideKey("undeleted:", entry.Key), conv, *notice); err != nil {
				r.Log.ErrorContext(ctx, "a notice could not be committed", "channel", conv.Channel, "error", err)
			}
			line.Committed(conv)
		})
	}
}
