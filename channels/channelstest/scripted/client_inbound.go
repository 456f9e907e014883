package scripted

import "context"

// Toast implements Link.
func (c *Client) Toast(ctx context.Context, callback, text string) error {
	_, err := c.call(ctx, PathToast, ToastCall{Callback: callback, Text: text})
	return err
}

// Fetch implements Link.
func (c *Client) Fetch(ctx context.Context, id string) ([]byte, error) {
	reply, err := c.call(ctx, PathFetch, FetchCall{ID: id})
	return reply.Data, err
}
