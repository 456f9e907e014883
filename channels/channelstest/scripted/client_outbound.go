package scripted

import (
	"context"

	"switchboard/channels"
)

// Change implements Link.
func (c *Client) Change(ctx context.Context, change Change) (channels.MessageID, error) {
	reply, err := c.call(ctx, PathChange, change)
	return reply.ID, err
}
