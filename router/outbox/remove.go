package outbox

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// removePatience is how long it is tried to delete a message.
const removePatience = time.Minute

// Removes says that a message which somebody sent to us there can be deleted.
func (l *Connection) Removes(conv channels.Conversation) bool {
	_, deletes := l.channel().(channels.Deleter)
	return deletes && l.channel().Features(conv).Removes
}

// Remove deletes, in the background, a message that somebody sent to us; failed is called where
// it stays.
func (l *Connection) Remove(conv channels.Conversation, id channels.MessageID, failed func(context.Context)) {
	deleter, ok := l.channel().(channels.Deleter)
	if !ok || id == "" {
		return
	}
	l.lines.asides.Go(func() {
		ctx, cancel := context.WithTimeout(l.lines.work, removePatience)
		defer cancel()
		var err error
		for range retry.Doubling(ctx, time.Second, 10*time.Second) {
			err = deleter.Delete(ctx, conv, id)
			refused, isRefused := errors.AsType[*channels.RefusedError](err)
			if err == nil || isRefused && !refused.Temporary || errors.Is(err, channels.ErrGone) {
				break
			}
		}
		if err != nil {
			l.lines.Log.WarnContext(ctx, "a message with a secret could not be deleted", "channel", l.Name, "conversation_id", conv.ID, "error", err)
			failed(context.WithoutCancel(ctx))
		}
	})
}
