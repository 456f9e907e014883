package outbox

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// removeTimeout is how long it is tried to delete a message.
const removeTimeout = time.Minute

// Removes says that a message which somebody sent to us there can be deleted.
func (c *Connection) Removes(conv channels.Conversation) bool {
	_, deletes := c.channel().(channels.Deleter)
	return deletes && c.channel().Features(conv).Removes
}

// Remove deletes, in the background, a message that somebody sent to us; failed is called where
// it stays.
func (c *Connection) Remove(conv channels.Conversation, id channels.MessageID, failed func(context.Context)) {
	deleter, ok := c.channel().(channels.Deleter)
	if !ok || id == "" {
		return
	}
	c.parent.Beside(func() {
		ctx, cancel := context.WithTimeout(c.parent.work, removeTimeout)
		defer cancel()
		var err error
		for range retry.Doubling(ctx, time.Second, 10*time.Second) {
			err = deleter.Delete(ctx, conv, id)
			if err == nil || isRefused(err) || errors.Is(err, channels.ErrGone) {
				break
			}
		}
		if err != nil {
			c.Log.WarnContext(ctx, "a message with a secret could not be deleted", "conversation_id", conv.ID, "error", err)
			failed(context.WithoutCancel(ctx))
		}
	})
}
